// Moving elements of any type between memory of different layouts.
#ifndef WEIR_DEVICE_CPU_STRIDED_COPY_H_
#define WEIR_DEVICE_CPU_STRIDED_COPY_H_

#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "weir/framework/kernel.h"
#include "weir/tensor/copy_elements.h"
#include "weir/tensor/tensor.h"

namespace weir {

using Dims = absl::InlinedVector<int64_t, 8>;

// Strides of a dense row-major array, in elements.
Dims DenseStrides(std::span<const int64_t> dims);

// Strides that repeat an array of shape `from` over the shape `to`. REQUIRES: `from` broadcasts to `to`.
Dims BroadcastStrides(const Shape& from, const Shape& to);

// n copies of one element.
void FillElements(DType dtype, const void* value, void* to, int64_t n);

// The same in the memory of the device that `ctx` runs on; `value` is in the host's.
Status FillElements(const KernelContext& ctx, DType dtype, const void* value, void* to, int64_t n);
// n copies of one element that is in the device's own memory.
Status SpreadElement(const KernelContext& ctx, DType dtype, const void* value, void* to, int64_t n);
// A copy in the device's memory.
StatusOr<Tensor> CloneElements(KernelContext& ctx, const Tensor& tensor);
// Makes all bytes of a tensor of the device zero. Elements that are no plain bytes stay as they are.
Status ClearElements(const KernelContext& ctx, Tensor& tensor);

// Copies an array of sizes `dims`, element (i, j, ...) at from + i * from_strides[0] + ... The strides count elements
// and may be zero (in `from`) or negative. On the host, uses the threads of `ctx` if there is much to do; another
// device does it itself, in order with its other work (framework/element_mover.h). REQUIRES: both strides as many as
// dims; the destinations are distinct.
Status StridedCopy(const KernelContext& ctx, DType dtype, std::span<const int64_t> dims, const void* from,
                   std::span<const int64_t> from_strides, void* to, std::span<const int64_t> to_strides);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_STRIDED_COPY_H_
