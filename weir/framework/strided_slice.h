// Computes the elements that a strided slice (x[1:3, ..., ::-1, newaxis, 0]) selects, for kernels and shape functions.
#ifndef WEIR_FRAMEWORK_STRIDED_SLICE_H_
#define WEIR_FRAMEWORK_STRIDED_SLICE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"
#include "weir/tensor/shape.h"

namespace weir {

struct StridedSliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;

  // Reads the attributes begin_mask, end_mask ... of a node. Source: KernelInit or ShapeContext.
  template <typename Source>
  static StatusOr<StridedSliceMasks> FromAttrs(const Source& source) {
    StridedSliceMasks masks;
    WEIR_ASSIGN_OR_RETURN(masks.begin, source.template Attr<int64_t>("begin_mask"));
    WEIR_ASSIGN_OR_RETURN(masks.end, source.template Attr<int64_t>("end_mask"));
    WEIR_ASSIGN_OR_RETURN(masks.ellipsis, source.template Attr<int64_t>("ellipsis_mask"));
    WEIR_ASSIGN_OR_RETURN(masks.new_axis, source.template Attr<int64_t>("new_axis_mask"));
    WEIR_ASSIGN_OR_RETURN(masks.shrink_axis, source.template Attr<int64_t>("shrink_axis_mask"));
    return masks;
  }
};

// An element of begin, end and strides, if known.
struct SliceEntry {
  std::optional<int64_t> begin;
  std::optional<int64_t> end;
  std::optional<int64_t> stride;
};

// The elements first, first + stride ... of a dimension, `count` in total.
struct SliceRange {
  int64_t first = 0;  // known if `count` is known
  int64_t stride = 1;
  int64_t count = PartialShape::kUnknown;
};

struct SliceRanges {
  static constexpr int kNewAxis = -1;

  absl::InlinedVector<SliceRange, 8> ranges;  // one per dimension of the tensor
  // For each dimension of the result: the dimension of the tensor that it comes from, or kNewAxis.
  absl::InlinedVector<int, 8> result;
};

// Dimensions may be unknown (-1). INVALID_ARGUMENT with TensorFlow's messages if there are too many entries, or if they
// do not fit the dimensions.
StatusOr<SliceRanges> SolveStridedSlice(std::span<const int64_t> dims, std::span<const SliceEntry> entries,
                                        const StridedSliceMasks& masks);

// The error for begin, end and strides that are not vectors of one length.
Status UnequalSliceVectors(const std::string& begin, const std::string& end, const std::string& strides);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_STRIDED_SLICE_H_
