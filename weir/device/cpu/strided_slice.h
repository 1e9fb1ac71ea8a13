// Strided slices (x[1:3, ..., ::-1, newaxis, 0]) of tensors.
#ifndef WEIR_DEVICE_CPU_STRIDED_SLICE_H_
#define WEIR_DEVICE_CPU_STRIDED_SLICE_H_

#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/strided_slice.h"

namespace weir {

struct SolvedSlice {
  SliceRanges ranges;
  Dims sizes;            // elements taken along each dimension of the tensor
  Shape shape;           // of the result, with new axes and without shrunk ones
  int64_t offset = 0;    // of the first element taken, in elements
  Dims element_strides;  // between elements taken, in elements
};

// INVALID_ARGUMENT with TensorFlow's messages if the three vectors do not fit each other or the shape.
StatusOr<SolvedSlice> SolveStridedSlice(const Shape& shape, const Tensor& begin, const Tensor& end,
                                        const Tensor& strides, const StridedSliceMasks& masks);

// The slice as a dense block `to`, and a dense block written into the slice.
Status ReadSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to);
Status WriteSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to);

// Whether a value of a shape may be assigned to a slice: it broadcasts to the slice's shape, and leading dimensions of
// size 1 do not count. Anything may be assigned to an empty slice. INVALID_ARGUMENT if not.
Status CheckAssignable(const SolvedSlice& slice, const Shape& value);
// Writes `value`, broadcast, into the slice of `to`. REQUIRES: CheckAssignable; the two do not share memory.
Status AssignSlice(const KernelContext& ctx, const SolvedSlice& slice, const Tensor& value, void* to);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_STRIDED_SLICE_H_
