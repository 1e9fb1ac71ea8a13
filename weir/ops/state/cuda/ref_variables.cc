// Reference variables in a GPU's memory, and tensors that a session keeps there.
#include "weir/device/cuda/elementwise.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/state/cuda/update_variable.h"

namespace weir::cuda {
namespace {

// AssignAdd and AssignSub.
class RefUpdateKernel : public Kernel {
 public:
  RefUpdateKernel(DType dtype, const char* operation)
      : function_({.inputs = {dtype, dtype}, .steps = {{operation, {0, 1}, dtype, dtype}}, .outputs = {2}}) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(1);
    return UpdateVariable(ctx, value.dtype(), [&](Tensor& variable) -> Status {
      if (variable.shape() != value.shape()) return InvalidArgument("Parameters and update must be the same size");
      const ElementwiseOperand operands[] = {ElementwiseOperand(variable), ElementwiseOperand(value)};
      Tensor* const outputs[] = {&variable};
      return function_.Run(ctx, operands, variable.shape(), outputs);
    });
  }

 private:
  const ElementwiseFunction function_;
};

KernelFactory RefUpdate(const char* operation) {
  return [operation](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    return std::make_unique<RefUpdateKernel>(init.input_type(1), operation);
  };
}

}  // namespace

void RegisterRefVariableKernels(GpuRegistry& registry) {
  for (const char* op : {"Variable", "VariableV2", "DestroyTemporaryVariable", "IsVariableInitialized",
                         "GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor"}) {
    registry.AddMoving(op);
  }
  registry.AddPortable("TemporaryVariable");
  registry.AddPortable("Assign");
  registry.Add("AssignAdd", RefUpdate("AddV2"));
  registry.Add("AssignSub", RefUpdate("Sub"));
}

}  // namespace weir::cuda
