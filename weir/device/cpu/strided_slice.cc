#include "weir/device/cpu/strided_slice.h"

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/index_input.h"

namespace weir {
namespace {

// `shape` without the leading dimensions of size 1 that it has beyond `rank`.
Shape WithoutLeadingOnes(const Shape& shape, int rank) {
  int extra = 0;
  while (shape.rank() - extra > rank && shape.dim(extra) == 1) ++extra;
  return shape.Slice(extra, shape.rank());
}

}  // namespace

StatusOr<SolvedSlice> SolveStridedSlice(const Shape& shape, const Tensor& begin, const Tensor& end,
                                        const Tensor& strides, const StridedSliceMasks& masks) {
  if (!begin.shape().IsVector() || !(begin.shape() == end.shape()) || !(begin.shape() == strides.shape())) {
    return UnequalSliceVectors(begin.shape().ToString(), end.shape().ToString(), strides.shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Dims begins, IntElements(begin, "begin"));
  WEIR_ASSIGN_OR_RETURN(Dims ends, IntElements(end, "end"));
  WEIR_ASSIGN_OR_RETURN(Dims steps, IntElements(strides, "strides"));
  absl::InlinedVector<SliceEntry, 8> entries(begins.size());
  for (size_t i = 0; i < entries.size(); ++i) entries[i] = {begins[i], ends[i], steps[i]};

  SolvedSlice out;
  WEIR_ASSIGN_OR_RETURN(out.ranges, SolveStridedSlice(shape.dims(), entries, masks));
  const Dims dense = DenseStrides(shape.dims());
  for (int d = 0; d < shape.rank(); ++d) {
    const SliceRange& range = out.ranges.ranges[d];
    out.sizes.push_back(range.count);
    if (range.count > 0) out.offset += range.first * dense[d];
    out.element_strides.push_back(range.count > 1 ? range.stride * dense[d] : 0);
  }
  for (int source : out.ranges.result) {
    WEIR_RETURN_IF_ERROR(out.shape.AddDim(source == SliceRanges::kNewAxis ? 1 : out.sizes[source]));
  }
  return out;
}

Status ReadSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to) {
  const char* first = static_cast<const char*>(from) + slice.offset * static_cast<int64_t>(SizeOf(dtype));
  return StridedCopy(ctx, dtype, slice.sizes, first, slice.element_strides, to, DenseStrides(slice.sizes));
}

Status WriteSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to) {
  char* first = static_cast<char*>(to) + slice.offset * static_cast<int64_t>(SizeOf(dtype));
  return StridedCopy(ctx, dtype, slice.sizes, from, DenseStrides(slice.sizes), first, slice.element_strides);
}

Status CheckAssignable(const SolvedSlice& slice, const Shape& value) {
  if (slice.shape.num_elements() == 0) return OkStatus();
  auto common = BroadcastShape(WithoutLeadingOnes(value, slice.shape.rank()), slice.shape);
  if (common.ok() && *common == slice.shape) return OkStatus();
  return InvalidArgument("Cannot broadcast input shape ", value.ToString(), " into final shape ",
                         slice.shape.ToString());
}

Status AssignSlice(const KernelContext& ctx, const SolvedSlice& slice, const Tensor& value, void* to) {
  if (slice.shape.num_elements() == 0) return OkStatus();
  const Dims steps = BroadcastStrides(WithoutLeadingOnes(value.shape(), slice.shape.rank()), slice.shape);
  Dims value_strides(slice.sizes.size(), 0);  // shrunk dimensions stand still
  for (size_t r = 0; r < steps.size(); ++r) {
    const int d = slice.ranges.result[r];
    if (d != SliceRanges::kNewAxis) value_strides[d] = steps[r];
  }
  char* first = static_cast<char*>(to) + slice.offset * static_cast<int64_t>(SizeOf(value.dtype()));
  return StridedCopy(ctx, value.dtype(), slice.sizes, value.raw_data(), value_strides, first, slice.element_strides);
}

}  // namespace weir
