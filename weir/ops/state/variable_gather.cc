#include "weir/ops/state/variable_gather.h"

#include "weir/resources/variable.h"

namespace weir::state {

StatusOr<Tensor> ReadForGather(KernelContext& ctx, DType dtype) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, LookUpResource<VariableResource>(ctx, 0));
  Tensor value = variable->Read();
  if (!value.has_value()) {
    const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
    return UninitializedVariable(handle.container, handle.name);
  }
  if (value.dtype() != dtype) {
    return InvalidArgument("Trying to read variable with wrong dtype. Expected ", Name(dtype), " got ",
                           Name(value.dtype()));
  }
  return value;
}

StatusOr<int> GatherBatchDims(const Shape& params, const Shape& indices, int64_t given) {
  if (params.rank() < 1) return InvalidArgument("params must be at least 1 dimensional");
  int64_t batch_dims = given < 0 ? given + indices.rank() : given;
  if (batch_dims < 0 || batch_dims > indices.rank()) {
    return InvalidArgument("batch_dims (", given, ") must be less than or equal to rank(indices) (", indices.rank(),
                           ").");
  }
  if (batch_dims >= params.rank()) {
    return InvalidArgument("batch_dims (", given, ") must be less than rank(params) (", params.rank(), ").");
  }
  int batch = static_cast<int>(batch_dims);
  if (params.Slice(0, batch) != indices.Slice(0, batch)) {
    return InvalidArgument("params.shape[:batch_dims]: ", params.Slice(0, batch).ToString(),
                           " should be equal to indices.shape[:batch_dims]: ", indices.Slice(0, batch).ToString());
  }
  return batch;
}

Status CheckGatherSlices(const Shape& params, const Shape& indices) {
  if (params.rank() < 1) return InvalidArgument("params must be at least a vector");
  if (indices.rank() < 1) return InvalidArgument("indices must be at least a vector");
  if (indices.dim(indices.rank() - 1) > params.rank()) {
    return InvalidArgument("index innermost dimension length must be <= params rank; saw: ",
                           indices.dim(indices.rank() - 1), " vs. ", params.rank());
  }
  return OkStatus();
}

}  // namespace weir::state
