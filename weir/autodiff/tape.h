// Tape: records eager operations so that they can be differentiated.
//
// A tape watches tensors, by id. An operation with a watched input is recorded, and its results are watched too.
// Gradients visits the records in reverse order and calls the same gradient functions as for graphs; the operations
// that they emit are executed eagerly. The caller may record these operations on other tapes, which gives higher-order
// derivatives.
//
// Not thread-safe: a tape belongs to the thread that runs the operations.
#ifndef WEIR_AUTODIFF_TAPE_H_
#define WEIR_AUTODIFF_TAPE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "weir/autodiff/gradient_registry.h"
#include "weir/autodiff/tape_emitter.h"

namespace weir {

// A dense, sparse or missing gradient (see GradientValue in value.h).
struct TapeGradient {
  TapeTensor dense;
  TapeTensor values;
  TapeTensor indices;
  TapeTensor dense_shape;
};

class Tape {
 public:
  struct Record {
    std::string op;
    Gradient kind = Gradient::kAbsent;     // from the op's schema
    std::shared_ptr<const AttrMap> attrs;  // complete
    std::vector<TapeTensor> inputs;
    std::vector<TapeTensor> outputs;
    GradientFunction gradient;  // of this record only; empty: use the op's gradient function
  };

  void Watch(int64_t id) { watched_.insert(id); }
  // True if an operation with these inputs has to be recorded.
  bool Watches(std::span<const TapeTensor> inputs) const;
  // REQUIRES: Watches(record->inputs). Records may be on several tapes.
  void Add(std::shared_ptr<const Record> record);
  void Clear();

  struct Request {
    std::vector<TapeTensor> targets;
    std::vector<TapeTensor> target_gradients;  // empty, or one per target; an empty tensor means ones
    std::vector<TapeTensor> sources;
    bool zeros_if_unconnected = false;
  };
  // The derivative of the sum of the targets with respect to each source. NOT_FOUND if an op between a source and a
  // target has no gradient function.
  StatusOr<std::vector<TapeGradient>> Gradients(const GradientRegistry& registry, TapeEmitter& emitter,
                                                const Request& request) const;

 private:
  class Walk;
  absl::flat_hash_set<int64_t> watched_;
  std::vector<std::shared_ptr<const Record>> records_;
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_TAPE_H_
