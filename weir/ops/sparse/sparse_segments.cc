#include "weir/ops/sparse/sparse_segments.h"

#include "weir/device/cpu/index_input.h"

namespace weir {

Status CheckSparseSegments(const KernelContext& ctx) {
  const Shape &indices = ctx.input(1).shape(), &segments = ctx.input(2).shape();
  if (ctx.input(0).rank() < 1) return InvalidArgument("Shape must be at least rank 1");
  if (!indices.IsVector()) return InvalidArgument("indices should be a vector.");
  if (!segments.IsVector()) return InvalidArgument("segment_ids should be a vector.");
  if (indices.dim(0) != segments.dim(0)) return InvalidArgument("segment_ids and indices should have same size.");
  return OkStatus();
}

StatusOr<int64_t> SparseSegmentCount(const KernelContext& ctx, int64_t last_id) {
  int64_t count = last_id + 1;
  if (ctx.num_inputs() == 4) {
    if (ctx.input(3).rank() != 0) {
      return InvalidArgument("num_segments should be a scalar, not shape ", ctx.input(3).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(count, IntScalar(ctx.input(3), "num_segments"));
    if (count <= last_id) return InvalidArgument("segment ids must be < num_segments");
  }
  if (count < 0) return InvalidArgument("segment ids must be >= 0");
  return count;
}

StatusOr<int64_t> CheckSparseSegmentGrad(const KernelContext& ctx) {
  WEIR_RETURN_IF_ERROR(CheckSparseSegments(ctx));
  if (!ctx.input(3).shape().IsScalar()) return InvalidArgument("output_dim0 should be a scalar.");
  WEIR_ASSIGN_OR_RETURN(int64_t size, IntScalar(ctx.input(3), "output_dim0"));
  if (size < 0) return InvalidArgument("output_dim0 must not be negative, got ", size);
  return size;
}

}  // namespace weir
