#include "weir/ops/state/strided_region.h"

#include <algorithm>

#include "weir/ops/state/indices.h"

namespace weir::state {
namespace {

bool Has(int64_t mask, size_t bit) { return bit < 63 && ((mask >> bit) & 1) != 0; }

// One dimension: where to start, how far to go and how often. `begin` and `end` may lie outside and count from the end.
struct Range {
  int64_t begin;
  int64_t stride;
  int64_t count;
};

Range ClampedRange(int64_t begin, bool open_begin, int64_t end, bool open_end, int64_t stride, int64_t size) {
  // The first and last place that a range may name; one before the start counts when it goes down.
  int64_t low = stride > 0 ? 0 : -1;
  int64_t high = stride > 0 ? size : size - 1;
  auto clamp = [&](int64_t place) { return std::clamp(place < 0 ? place + size : place, low, high); };
  int64_t from = open_begin ? (stride > 0 ? low : high) : clamp(begin);
  int64_t to = open_end ? (stride > 0 ? high : low) : clamp(end);
  int64_t distance = to - from;
  if (distance == 0 || (distance < 0) != (stride < 0)) return {from, stride, 0};
  return {from, stride, distance / stride + (distance % stride != 0 ? 1 : 0)};
}

}  // namespace

StatusOr<SliceMasks> SliceMasks::FromAttrs(const KernelInit& init) {
  SliceMasks masks;
  WEIR_ASSIGN_OR_RETURN(masks.begin, init.Attr<int64_t>("begin_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.end, init.Attr<int64_t>("end_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.ellipsis, init.Attr<int64_t>("ellipsis_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.new_axis, init.Attr<int64_t>("new_axis_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.shrink_axis, init.Attr<int64_t>("shrink_axis_mask"));
  if ((masks.ellipsis & (masks.ellipsis - 1)) != 0) {
    return InvalidArgument("Multiple ellipses in slice spec not allowed");
  }
  return masks;
}

StatusOr<StridedRegion> ResolveRegion(const Tensor& begin_tensor, const Tensor& end_tensor,
                                      const Tensor& strides_tensor, const SliceMasks& masks, const Shape& shape) {
  if (begin_tensor.rank() != 1 || end_tensor.rank() != 1 || strides_tensor.rank() != 1 ||
      begin_tensor.dim(0) != end_tensor.dim(0) || begin_tensor.dim(0) != strides_tensor.dim(0)) {
    return InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but got shapes ",
                           begin_tensor.shape().ToString(), ", ", end_tensor.shape().ToString(), ", and ",
                           strides_tensor.shape().ToString(), " instead.");
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> begin, IndexValues(begin_tensor));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> end, IndexValues(end_tensor));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> strides, IndexValues(strides_tensor));
  size_t count = begin.size();
  if (count >= 32) return InvalidArgument("Slices of more than 31 entries are not supported, got ", count);

  // How many dimensions of the tensor the entries other than the ellipsis take.
  int taken = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < count; ++i) {
    if (Has(masks.ellipsis, i))
      has_ellipsis = true;
    else if (!Has(masks.new_axis, i))
      ++taken;
  }
  if (taken > shape.rank()) {
    return InvalidArgument("Index out of range using input dim ", shape.rank(), "; input has only ", shape.rank(),
                           " dims");
  }

  StridedRegion region;
  auto add_whole = [&](int dim) -> Status {
    region.begin.push_back(0);
    region.stride.push_back(1);
    region.value_axis.push_back(region.value_shape.rank());
    WEIR_RETURN_IF_ERROR(region.dims.AddDim(shape.dim(dim)));
    return region.value_shape.AddDim(shape.dim(dim));
  };
  int dim = 0;
  for (size_t i = 0; i < count; ++i) {
    if (Has(masks.ellipsis, i)) {
      for (int last = dim + shape.rank() - taken; dim < last; ++dim) WEIR_RETURN_IF_ERROR(add_whole(dim));
      continue;
    }
    if (Has(masks.new_axis, i)) {
      WEIR_RETURN_IF_ERROR(region.value_shape.AddDim(1));
      continue;
    }
    int64_t size = shape.dim(dim);
    if (strides[i] == 0) return InvalidArgument("strides[", i, "] must be non-zero");
    if (Has(masks.shrink_axis, i)) {
      if (strides[i] <= 0) return InvalidArgument("only stride 1 allowed on non-range indexing.");
      int64_t place = begin[i] < 0 ? begin[i] + size : begin[i];
      if (place < 0 || place >= size) {
        return InvalidArgument("slice index ", begin[i], " of dimension ", dim, " out of bounds.");
      }
      region.begin.push_back(place);
      region.stride.push_back(1);
      region.value_axis.push_back(-1);
      WEIR_RETURN_IF_ERROR(region.dims.AddDim(1));
    } else {
      Range range = ClampedRange(begin[i], Has(masks.begin, i), end[i], Has(masks.end, i), strides[i], size);
      region.begin.push_back(range.begin);
      region.stride.push_back(range.stride);
      region.value_axis.push_back(region.value_shape.rank());
      WEIR_RETURN_IF_ERROR(region.dims.AddDim(range.count));
      WEIR_RETURN_IF_ERROR(region.value_shape.AddDim(range.count));
    }
    ++dim;
  }
  // Dimensions behind the entries are whole, as if an ellipsis ended them.
  if (!has_ellipsis) {
    for (; dim < shape.rank(); ++dim) WEIR_RETURN_IF_ERROR(add_whole(dim));
  }
  return region;
}

}  // namespace weir::state
