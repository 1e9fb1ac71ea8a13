// TapeEmitter: an Emitter that executes operations eagerly, on concrete tensors.
#ifndef WEIR_AUTODIFF_TAPE_EMITTER_H_
#define WEIR_AUTODIFF_TAPE_EMITTER_H_

#include <functional>
#include <span>
#include <vector>

#include "weir/autodiff/emitter.h"
#include "weir/framework/op_registry.h"

namespace weir {

// A tensor with its identity on tapes: every result of an operation has its own id, even if it shares memory with
// another tensor.
struct TapeTensor {
  Tensor tensor;
  int64_t id = 0;
};

class TapeEmitter : public Emitter {
 public:
  // Executes one op. `attrs` are complete except for defaults.
  using Run =
      std::function<StatusOr<std::vector<TapeTensor>>(const OpSchema&, std::vector<TapeTensor> inputs, AttrMap attrs)>;

  // REQUIRES: `ops` outlives the emitter.
  TapeEmitter(const OpRegistry& ops, Run run) : ops_(ops), run_(std::move(run)) {}

  Value Add(TapeTensor tensor);
  // Empty for an empty value.
  TapeTensor Get(Value value) const;

 protected:
  StatusOr<const OpSchema*> FindSchema(std::string_view op) const override;
  StatusOr<std::vector<Value>> AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) override;
  DType OwnDType(Value value) const override { return tensors_[value.node()].tensor.dtype(); }
  PartialShape OwnShape(Value value) const override { return PartialShape(tensors_[value.node()].tensor.shape()); }
  // Values that would have to be waited for are no constants.
  Tensor OwnConstant(Value value) const override {
    const Tensor& tensor = tensors_[value.node()].tensor;
    return tensor.in_host_memory() ? tensor : Tensor();
  }
  std::vector<ResourceHandle::DTypeAndShape> OwnHandleData(Value value) const override;
  StatusOr<Value> Import(Value foreign) override;

 private:
  const OpRegistry& ops_;
  const Run run_;
  std::vector<TapeTensor> tensors_;
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_TAPE_EMITTER_H_
