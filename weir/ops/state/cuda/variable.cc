// Variables of a GPU. What only hands tensors around is done by the host's kernels.
#include "weir/device/cuda/elementwise.h"
#include "weir/device/cuda/recording.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/state/cuda/update_variable.h"

namespace weir::cuda {
namespace {

// AssignAddVariableOp and AssignSubVariableOp.
class AssignUpdateKernel : public Kernel {
 public:
  AssignUpdateKernel(DType dtype, const char* operation) : function_(ProgramOf(dtype, operation)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(1);
    return UpdateVariable(ctx, value.dtype(), [&](Tensor& variable) -> Status {
      if (variable.shape() != value.shape()) {
        return InvalidArgument("Cannot update variable with shape ", variable.shape().ToString(),
                               " using a Tensor with shape ", value.shape().ToString(), ", shapes must be equal.");
      }
      const ElementwiseOperand operands[] = {ElementwiseOperand(variable), ElementwiseOperand(value)};
      Tensor* const outputs[] = {&variable};
      return function_.Run(ctx, operands, variable.shape(), outputs);
    });
  }

 private:
  static ElementwiseProgram ProgramOf(DType dtype, const char* operation) {
    ElementwiseProgram program;
    program.inputs = {dtype, dtype};
    program.steps = {{operation, {0, 1}, dtype, dtype}};
    program.outputs = {2};
    return program;
  }
  const ElementwiseFunction function_;
};

KernelFactory AssignUpdate(const char* operation) {
  return [operation](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    return std::make_unique<AssignUpdateKernel>(init.input_type(1), operation);
  };
}

// AssignVariableOp: the value becomes the variable's memory, as on the host. In a recording, which finds variables
// where they were, it is copied there.
class AssignKernel : public Kernel {
 public:
  explicit AssignKernel(std::unique_ptr<Kernel> moving) : moving_(std::move(moving)) {}

  Status Compute(KernelContext& ctx) override {
    if (!RunOf(ctx).is_recording()) return moving_->Compute(ctx);
    const Tensor& value = ctx.input(1);
    return UpdateVariable(ctx, value.dtype(), [&](Tensor& variable) -> Status {
      if (variable.shape() != value.shape()) return RefuseRecording(ctx, "a variable whose shape changes");
      return CopyOnDevice(ctx, Address(variable), Address(value), value.num_bytes());
    });
  }
  bool is_expensive() const override { return false; }

 private:
  const std::unique_ptr<Kernel> moving_;
};

}  // namespace

void RegisterVariableKernels(GpuRegistry& registry) {
  for (const char* op : {"ReadVariableOp", "_ReadVariablesOp"}) registry.AddMoving(op);
  registry.AddMoving("AssignVariableOp", [](std::unique_ptr<Kernel> moving) -> std::unique_ptr<Kernel> {
    return std::make_unique<AssignKernel>(std::move(moving));
  });
  registry.Add("AssignAddVariableOp", AssignUpdate("AddV2"));
  registry.Add("AssignSubVariableOp", AssignUpdate("Sub"));
}

}  // namespace weir::cuda
