#include "weir/ops/math/segment.h"

#include "weir/device/cpu/index_input.h"

namespace weir {

Status CheckSegments(const Shape& data, const Shape& ids) {
  if (!ids.IsVector()) return InvalidArgument("segment_ids should be a vector.");
  if (data.rank() < 1 || data.dim(0) != ids.num_elements()) {
    return InvalidArgument("segment_ids should be the same size as dimension 0 of input.");
  }
  return OkStatus();
}

StatusOr<UnsortedSegments> CheckUnsortedSegments(const KernelContext& ctx) {
  const Shape &data = ctx.input(0).shape(), &ids = ctx.input(1).shape();
  if (!ctx.input(2).shape().IsScalar()) {
    return InvalidArgument("num_segments should be a scalar, not shape ", ctx.input(2).shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(int64_t segments, IntScalar(ctx.input(2), "num_segments"));
  if (segments < 0) return InvalidArgument("Input num_segments == ", segments, " must not be negative.");
  const int id_rank = ids.rank();
  if (data.rank() < id_rank || !(data.Slice(0, id_rank) == ids)) {
    return InvalidArgument("data.shape = ", data.ToString(),
                           " does not start with segment_ids.shape = ", ids.ToString());
  }
  UnsortedSegments sizes;
  sizes.count = segments;
  const Shape inner = data.Slice(id_rank, data.rank());
  sizes.inner = inner.num_elements();
  WEIR_ASSIGN_OR_RETURN(sizes.shape, Shape({segments}).Concat(inner));
  return sizes;
}

}  // namespace weir
