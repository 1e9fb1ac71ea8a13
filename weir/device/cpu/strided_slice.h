// What a strided slice (x[1:3, ..., ::-1, newaxis, 0]) means for a tensor of a known shape.
#ifndef WEIR_DEVICE_CPU_STRIDED_SLICE_H_
#define WEIR_DEVICE_CPU_STRIDED_SLICE_H_

#include "weir/device/cpu/strided_copy.h"

namespace weir {

struct StridedSliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
};

// The attributes begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask.
StatusOr<StridedSliceMasks> GetStridedSliceMasks(const KernelInit& init);

struct SolvedSlice {
  Dims begin;            // one a dimension of the sliced tensor
  Dims strides;          // likewise, never 0
  Dims sizes;            // elements taken along each dimension
  Shape shape;           // of the result, with new axes and without shrunk ones
  int64_t offset = 0;    // of the first element taken, in elements
  Dims element_strides;  // between elements taken, in elements
};

// INVALID_ARGUMENT with TensorFlow's messages if the three vectors do not fit each other or the shape.
StatusOr<SolvedSlice> SolveStridedSlice(const Shape& shape, const Tensor& begin, const Tensor& end,
                                        const Tensor& strides, const StridedSliceMasks& masks);

// The slice as a dense block `to`, and a dense block written into the slice.
void ReadSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to);
void WriteSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_STRIDED_SLICE_H_
