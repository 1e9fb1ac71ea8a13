// Tape: what was run, in order, so that it can be differentiated.
//
// A tape watches tensors, by id. An operation with a watched input is recorded, and its results are watched too.
// Gradients walks the records backwards and calls the ops' gradient functions, the same as for graphs; what they emit
// is run at once. Whoever runs it may record it on other tapes, which gives derivatives of derivatives.
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

// Nothing, a tensor, or rows of one (GradientValue of value.h).
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
    Gradient kind = Gradient::kAbsent;     // what the op's schema says
    std::shared_ptr<const AttrMap> attrs;  // complete
    std::vector<TapeTensor> inputs;
    std::vector<TapeTensor> outputs;
    GradientFunction gradient;  // of this one alone; empty: the op's
  };

  void Watch(int64_t id) { watched_.insert(id); }
  // True if what was computed from these has to be recorded.
  bool Watches(std::span<const TapeTensor> inputs) const;
  // REQUIRES: Watches(record->inputs). Records may be on several tapes.
  void Add(std::shared_ptr<const Record> record);
  void Clear();

  struct Request {
    std::vector<TapeTensor> targets;
    std::vector<TapeTensor> target_gradients;  // empty, or one a target; one without a value means ones
    std::vector<TapeTensor> sources;
    bool zeros_if_unconnected = false;
  };
  // The derivative of the sum of the targets by each source. NOT_FOUND if an op on the way has no gradient.
  StatusOr<std::vector<TapeGradient>> Gradients(const GradientRegistry& registry, TapeEmitter& emitter,
                                                const Request& request) const;

 private:
  class Walk;
  absl::flat_hash_set<int64_t> watched_;
  std::vector<std::shared_ptr<const Record>> records_;
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_TAPE_H_
