#include "weir/ops/state/cuda/update_variable.h"

#include "weir/device/cuda/launch.h"
#include "weir/ops/state/update_variable.h"
#include "weir/resources/variable.h"

namespace weir::cuda {

Status UpdateVariable(KernelContext& ctx, DType dtype, absl::FunctionRef<Status(Tensor& tensor)> body) {
  if (ctx.is_ref_input(0)) return state::UpdateVariable(ctx, dtype, body);
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, LookUpResource<VariableResource>(ctx, 0));
  RunOf(ctx).UseResource(variable, /*changes=*/true);
  absl::MutexLock lock(&variable->mu);
  if (!variable->tensor.has_value()) {
    const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
    return UninitializedVariable(handle.container, handle.name);
  }
  if (variable->tensor.dtype() != dtype) {
    return InvalidArgument("DType of variable handle and value does not match: the variable is ",
                           Name(variable->tensor.dtype()), ", the value ", Name(dtype));
  }
  WEIR_RETURN_IF_ERROR(variable->MakeWritable(
      ctx.device().allocator(), [&](const Tensor& from, const Tensor& to) { return CopyVariable(ctx, from, to); }));
  return body(variable->tensor);
}

}  // namespace weir::cuda
