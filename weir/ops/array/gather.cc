#include "weir/ops/array/gather.h"

#include "weir/device/cpu/index_input.h"

namespace weir {

StatusOr<GatherPlan> PlanGather(const KernelContext& ctx, int64_t batch_dims) {
  const Shape &params = ctx.input(0).shape(), &indices = ctx.input(1).shape();
  if (params.rank() < 1) return InvalidArgument("params must be at least 1 dimensional");
  int64_t given = 0;
  if (ctx.num_inputs() == 3) {
    if (!ctx.input(2).shape().IsScalar()) return InvalidArgument("axis must be scalar");
    WEIR_ASSIGN_OR_RETURN(given, IntScalar(ctx.input(2), "axis"));
  }
  const int rank = params.rank();
  if (given < -rank || given >= rank) {
    return InvalidArgument("Expected axis in the range [", -rank, ", ", rank, "), but got ", given);
  }
  const int axis = static_cast<int>(given < 0 ? given + rank : given);
  if (batch_dims < -indices.rank() || batch_dims > indices.rank()) {
    return InvalidArgument("Expected batch_dims in the range [", -indices.rank(), ", ", indices.rank(), "], but got ",
                           batch_dims);
  }
  if (batch_dims < 0) batch_dims += indices.rank();
  if (batch_dims >= rank) {
    return InvalidArgument("batch_dims (", batch_dims, ") must be less than rank(params) (", rank, ").");
  }
  if (axis < batch_dims) {
    return InvalidArgument("batch_dims (", batch_dims, ") must be less than or equal to axis (", axis, ").");
  }
  for (int d = 0; d < batch_dims; ++d) {
    if (params.dim(d) != indices.dim(d)) {
      return InvalidArgument("params.shape[", d, "]: ", params.dim(d), " should be equal to indices.shape[", d,
                             "]: ", indices.dim(d));
    }
  }
  const int batch_rank = static_cast<int>(batch_dims);
  GatherPlan plan;
  WEIR_ASSIGN_OR_RETURN(plan.shape, params.Slice(0, axis).Concat(indices.Slice(batch_rank, indices.rank())));
  WEIR_ASSIGN_OR_RETURN(plan.shape, plan.shape.Concat(params.Slice(axis + 1, rank)));
  plan.batches = params.Slice(0, batch_rank).num_elements();
  plan.outer = params.Slice(batch_rank, axis).num_elements();
  plan.limit = params.dim(axis);
  plan.inner = params.Slice(axis + 1, rank).num_elements();
  plan.count = indices.Slice(batch_rank, indices.rank()).num_elements();
  return plan;
}

StatusOr<Shape> GatherNdShape(const Shape& params, const Shape& indices) {
  if (params.rank() < 1) return InvalidArgument("params must be at least a vector");
  if (indices.rank() < 1) return InvalidArgument("indices must be at least a vector");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > params.rank()) {
    return InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ",
                           params.rank());
  }
  const Shape positions = indices.Slice(0, indices.rank() - 1);
  WEIR_ASSIGN_OR_RETURN(Shape shape, positions.Concat(params.Slice(static_cast<int>(depth), params.rank())));
  if (positions.num_elements() > 0 && params.num_elements() == 0) {
    return InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: ", params.ToString());
  }
  return shape;
}

}  // namespace weir
