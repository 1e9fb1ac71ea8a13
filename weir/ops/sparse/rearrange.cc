#include "weir/ops/sparse/rearrange.h"

#include <algorithm>
#include <limits>

#include "weir/device/cpu/index_input.h"

namespace weir {

StatusOr<SparseConcatPlan> PlanSparseConcat(KernelContext& ctx, int64_t axis) {
  const int n = ctx.num_inputs() / 3;
  SparseConcatPlan plan;
  for (int i = 0; i < n; ++i) {
    WEIR_ASSIGN_OR_RETURN(SparseInput part, MakeUnboundedSparse(ctx.input(i), ctx.input(n + i), ctx.input(2 * n + i)));
    plan.parts.push_back(std::move(part));
  }
  plan.shape = plan.parts[0].shape;
  const int rank = plan.shape.rank();
  if (axis < -rank || axis >= rank) {
    return InvalidArgument("Concat dimension must be in range [", -rank, ", ", rank, "), got ", axis);
  }
  plan.axis = static_cast<int>(axis < 0 ? axis + rank : axis);
  int64_t size = 0;
  for (int i = 0; i < n; ++i) {
    const Shape& given = plan.parts[i].shape;
    if (given.rank() != rank) {
      return InvalidArgument("Ranks of all input tensors must match: expected ", rank, " but got ", given.rank(),
                             " at position ", i);
    }
    for (int d = 0; d < rank; ++d) {
      if (d != plan.axis && given.dim(d) != plan.shape.dim(d)) {
        return InvalidArgument("Input shapes must match: expected ", plan.shape.dim(d), " for dimension ", d,
                               " but got ", given.dim(d), " at position ", i);
      }
    }
    std::optional<int64_t> sum = CheckedAdd(size, given.dim(plan.axis));
    if (!sum) return InvalidArgument("The joined dimension is too large");
    size = *sum;
    plan.count += plan.parts[i].count();
  }
  WEIR_RETURN_IF_ERROR(plan.shape.SetDim(plan.axis, size));
  return plan;
}

StatusOr<Shape> SparseSliceBox(KernelContext& ctx, const SparseInput& sparse) {
  const Tensor &start = ctx.input(3), &size = ctx.input(4);
  if (!start.shape().IsVector() || !size.shape().IsVector() || start.num_elements() != sparse.rank() ||
      size.num_elements() != sparse.rank()) {
    return InvalidArgument("Expected start and size to be vectors of ", sparse.rank(), " elements, got shapes ",
                           start.shape().ToString(), " and ", size.shape().ToString());
  }
  Shape box;
  for (int d = 0; d < sparse.rank(); ++d) {
    const int64_t begin = start.data<int64_t>()[d], wanted = size.data<int64_t>()[d];
    if (wanted < 0) return InvalidArgument("Expected a non-negative size, got ", wanted);
    // A box may begin before the first element, but not so far that distances from it cannot be told.
    if (begin < 0 && sparse.shape.dim(d) > std::numeric_limits<int64_t>::max() + begin) {
      return InvalidArgument("start must not be so far below zero, got ", begin);
    }
    WEIR_RETURN_IF_ERROR(box.AddDim(std::max<int64_t>(0, std::min(wanted, sparse.shape.dim(d) - begin))));
  }
  return box;
}

Status CheckSparseSliceGrad(KernelContext& ctx) {
  const Shape &grad = ctx.input(0).shape(), &indices = ctx.input(1).shape(), &start = ctx.input(2).shape(),
              &kept = ctx.input(3).shape();
  if (grad.IsVector() && indices.IsMatrix() && kept.IsMatrix() && start.IsVector() && indices.dim(1) == kept.dim(1) &&
      start.dim(0) == indices.dim(1) && grad.dim(0) == kept.dim(0)) {
    return OkStatus();
  }
  return InvalidArgument("Shapes of a slice's gradient do not go together: ", grad.ToString(), ", ", indices.ToString(),
                         ", ", start.ToString(), ", ", kept.ToString());
}

int64_t SparseSplitPlan::Size(int part) const {
  const int64_t size = sparse.shape.dim(axis);
  return size / parts + (part < size % parts ? 1 : 0);
}

StatusOr<SparseSplitPlan> PlanSparseSplit(KernelContext& ctx) {
  if (ctx.input(0).rank() != 0) {
    return InvalidArgument("Input axis should be a scalar but received shape ", ctx.input(0).shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(int64_t given, IntScalar(ctx.input(0), "split_dim"));
  SparseSplitPlan plan;
  WEIR_ASSIGN_OR_RETURN(plan.sparse, MakeUnboundedSparse(ctx.input(1), ctx.input(2), ctx.input(3)));
  const int rank = plan.sparse.rank();
  plan.parts = ctx.num_outputs() / 3;
  if (given < -rank || given >= rank) {
    return InvalidArgument("Input split_dim should be between [", -rank, ", rank (", rank, ")), got ", given);
  }
  plan.axis = static_cast<int>(given < 0 ? given + rank : given);
  const int64_t size = plan.sparse.shape.dim(plan.axis);
  if (plan.parts < 1 || plan.parts > size) {
    return InvalidArgument("Input num_split should be between 1 and the splitting dimension size (", size, "), got ",
                           plan.parts);
  }
  return plan;
}

}  // namespace weir
