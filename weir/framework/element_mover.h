// ElementMover: a device that moves elements within its own memory, and adds them up.
//
// Kernels that only move elements (slices, transposes, pads, ...) are written once for all devices: what they give to
// StridedCopy (device/cpu/strided_copy.h) is done by the host's threads, or by the device if it is an ElementMover.
#ifndef WEIR_FRAMEWORK_ELEMENT_MOVER_H_
#define WEIR_FRAMEWORK_ELEMENT_MOVER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/export.h"
#include "weir/framework/kernel.h"

namespace WEIR_PUBLIC weir {

// Implemented by a Device. All calls give work to the device, in order with its kernels.
class ElementMover {
 public:
  virtual ~ElementMover() = default;
  // Copies an array of sizes `dims`; strides count elements of `element_size` bytes and may be zero (in `from`) or
  // negative.
  virtual Status MoveElements(const KernelContext& ctx, size_t element_size, std::span<const int64_t> dims,
                              const void* from, std::span<const int64_t> from_strides, void* to,
                              std::span<const int64_t> to_strides) = 0;
  // `value` is in the host's memory.
  virtual Status FillElements(const KernelContext& ctx, size_t element_size, const void* value, void* to,
                              int64_t n) = 0;
  virtual Status ClearBytes(const KernelContext& ctx, void* to, size_t bytes) = 0;
  // Copies parts, each of `count` elements, to their places in `to`. REQUIRES: ordered by place; they do not overlap.
  struct Part {
    const void* from;
    int64_t begin, count;
  };
  virtual Status PlaceParts(KernelContext& ctx, size_t element_size, std::span<const Part> parts, void* to) = 0;
  // to = a + b, which may be the same memory. REQUIRES: numbers.
  virtual Status AddElements(KernelContext& ctx, const Tensor& a, const Tensor& b, Tensor& to) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_ELEMENT_MOVER_H_
