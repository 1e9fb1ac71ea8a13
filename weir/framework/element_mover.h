// ElementMover: a device that moves and adds elements within its own memory.
//
// Kernels that only move elements (slices, transposes, pads ...) are written once for all devices: StridedCopy
// (device/cpu/strided_copy.h) runs on the host's threads, or on the device if that is an ElementMover.
#ifndef WEIR_FRAMEWORK_ELEMENT_MOVER_H_
#define WEIR_FRAMEWORK_ELEMENT_MOVER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/export.h"
#include "weir/framework/kernel.h"

namespace WEIR_PUBLIC weir {

// Implemented by a Device. All calls enqueue work, in order with the device's kernels.
class ElementMover {
 public:
  virtual ~ElementMover() = default;
  // Copies an array of sizes `dims`. Strides are in elements of `element_size` bytes; they may be negative or (in
  // `from`) zero.
  virtual Status MoveElements(const KernelContext& ctx, size_t element_size, std::span<const int64_t> dims,
                              const void* from, std::span<const int64_t> from_strides, void* to,
                              std::span<const int64_t> to_strides) = 0;
  // `value` is in host memory.
  virtual Status FillElements(const KernelContext& ctx, size_t element_size, const void* value, void* to,
                              int64_t n) = 0;
  virtual Status ClearBytes(const KernelContext& ctx, void* to, size_t bytes) = 0;
  // Copies parts of `count` elements each to their places in `to`. REQUIRES: the parts are ordered by place and do not
  // overlap.
  struct Part {
    const void* from;
    int64_t begin, count;
  };
  virtual Status PlaceParts(KernelContext& ctx, size_t element_size, std::span<const Part> parts, void* to) = 0;
  // to = a + b; they may share memory. REQUIRES: a numeric type.
  virtual Status AddElements(KernelContext& ctx, const Tensor& a, const Tensor& b, Tensor& to) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_ELEMENT_MOVER_H_
