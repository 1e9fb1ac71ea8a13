#include "weir/ops/state/update_variable.h"

#include "weir/resources/variable.h"

namespace weir::state {
namespace {

Status UpdateRef(KernelContext& ctx, DType dtype, absl::FunctionRef<Status(Tensor& tensor)> body) {
  RefCell& cell = ctx.ref_input(0);
  {
    absl::MutexLock lock(&cell.mu);
    if (!cell.tensor.has_value()) return UninitializedRef(cell);
    if (cell.tensor.dtype() != dtype) {
      return InvalidArgument("Expected a variable of type ", Name(dtype), ", got ", Name(cell.tensor.dtype()));
    }
    WEIR_RETURN_IF_ERROR(body(cell.tensor));
  }
  if (ctx.num_outputs() > 0 && IsRef(ctx.node().types->outputs[0])) ctx.ForwardRefInput(0, 0);
  return OkStatus();
}

}  // namespace

Status UninitializedRef(const RefCell& cell) {
  return FailedPrecondition("Attempting to use uninitialized value ", cell.name);
}

Status UpdateVariable(KernelContext& ctx, DType dtype, absl::FunctionRef<Status(Tensor& tensor)> body) {
  if (ctx.is_ref_input(0)) return UpdateRef(ctx, dtype, body);
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, LookUpResource<VariableResource>(ctx, 0));
  absl::MutexLock lock(&variable->mu);
  if (!variable->tensor.has_value()) {
    const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
    return UninitializedVariable(handle.container, handle.name);
  }
  if (variable->tensor.dtype() != dtype) {
    return InvalidArgument("DType of variable handle and value does not match: the variable is ",
                           Name(variable->tensor.dtype()), ", the value ", Name(dtype));
  }
  WEIR_RETURN_IF_ERROR(variable->MakeWritable(ctx.device().allocator()));
  return body(variable->tensor);
}

}  // namespace weir::state
