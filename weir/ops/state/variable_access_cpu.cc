// Reading and assigning resource variables. Neither copies: readers and the variable share the tensor.
#include "weir/ops/state/register.h"
#include "weir/resources/variable.h"

namespace weir {
namespace {

Status CouldNotFind(const ResourceHandle& handle, const Status& cause) {
  return FailedPrecondition("Could not find variable ", handle.name,
                            ". This could mean that the variable has been deleted. In TF1, it can also mean the "
                            "variable is uninitialized. Debug info: container=",
                            handle.container, ", status error message=", Message(cause));
}

StatusOr<Tensor> ReadVariable(KernelContext& ctx, int i, DType dtype) {
  WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, i));
  auto variable = LookUpResource<VariableResource>(ctx, i);
  if (!variable.ok()) return CouldNotFind(*handle, variable.status());
  Tensor value = (*variable)->Read();
  if (!value.has_value()) return UninitializedVariable(handle->container, handle->name);
  if (value.dtype() != dtype) {
    return InvalidArgument("Trying to read variable with wrong dtype. Expected ", Name(dtype), " got ",
                           Name(value.dtype()));
  }
  return value;
}

class ReadVariableKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    if (ctx.num_inputs() != ctx.num_outputs()) {
      return InvalidArgument(ctx.num_inputs(), " variables cannot be read into ", ctx.num_outputs(), " values");
    }
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor value, ReadVariable(ctx, i, ctx.output_type(i)));
      ctx.set_output(i, std::move(value));
    }
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class AssignVariableKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AssignVariableKernel>();
    if (init.HasAttr("validate_shape")) {
      WEIR_ASSIGN_OR_RETURN(kernel->validate_shape_, init.Attr<bool>("validate_shape"));
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    DType dtype = ctx.input(1).dtype();
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, FindOrMake(ctx, dtype));
    Tensor old;  // freed after the lock
    absl::MutexLock lock(&variable->mu);
    if (variable->dtype() != dtype) {
      return InvalidArgument("Trying to assign variable with wrong dtype. Expected ", Name(variable->dtype()), " got ",
                             Name(dtype));
    }
    if (validate_shape_ && variable->tensor.has_value() && variable->tensor.shape() != ctx.input(1).shape()) {
      return InvalidArgument("Trying to assign to variable with tensor with wrong shape. Expected ",
                             variable->tensor.shape().ToString(), " got ", ctx.input(1).shape().ToString());
    }
    old = std::exchange(variable->tensor, ctx.TakeInput(1));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  static StatusOr<std::shared_ptr<VariableResource>> FindOrMake(KernelContext& ctx, DType dtype) {
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, 0));
    if (handle->resource != nullptr) return LookUpResource<VariableResource>(ctx, 0);
    if (handle->type_name != VariableResource::kTypeName) {
      return InvalidArgument(
          "Trying to access a handle's resource using the wrong type. The handle points to a resource "
          "(name '",
          handle->name, "') of type '", handle->type_name, "' but you are trying to access the resource as type '",
          VariableResource::kTypeName, "'");
    }
    return ctx.resources().LookUpOrCreate<VariableResource>(
        handle->container, handle->name,
        [&]() -> StatusOr<std::shared_ptr<VariableResource>> { return std::make_shared<VariableResource>(dtype); });
  }

  bool validate_shape_ = false;
};

}  // namespace

void RegisterVariableAccessKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ReadVariableOp"), MakeKernel<ReadVariableKernel>);
  registry.Add(KernelBuilder("_ReadVariablesOp"), MakeKernel<ReadVariableKernel>);
  registry.Add(KernelBuilder("AssignVariableOp"), MakeKernel<AssignVariableKernel>);
}

}  // namespace weir
