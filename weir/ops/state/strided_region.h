// The region of a tensor that a strided slice names.
#ifndef WEIR_OPS_STATE_STRIDED_REGION_H_
#define WEIR_OPS_STATE_STRIDED_REGION_H_

#include <cstdint>
#include <vector>

#include "weir/framework/kernel.h"

namespace weir::state {

// The masks of StridedSlice and its like.
struct SliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
  static StatusOr<SliceMasks> FromAttrs(const KernelInit& init);
};

// Element (i0, i1, ...) of the region is element begin[d] + i_d * stride[d] of the tensor; it lies inside it.
struct StridedRegion {
  std::vector<int64_t> begin;
  std::vector<int64_t> stride;
  Shape dims;                   // one for each dimension of the tensor
  Shape value_shape;            // what the slice looks like: without shrunk dimensions, with new ones
  std::vector<int> value_axis;  // where each dimension of the tensor went in it, -1 if it was shrunk
};

// REQUIRES: the three are vectors of one integer type (checked).
StatusOr<StridedRegion> ResolveRegion(const Tensor& begin, const Tensor& end, const Tensor& strides,
                                      const SliceMasks& masks, const Shape& shape);

}  // namespace weir::state

#endif  // WEIR_OPS_STATE_STRIDED_REGION_H_
