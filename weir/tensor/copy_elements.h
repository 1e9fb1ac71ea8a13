// Copies elements of any type.
#ifndef WEIR_TENSOR_COPY_ELEMENTS_H_
#define WEIR_TENSOR_COPY_ELEMENTS_H_

#include <cstdint>

#include "weir/tensor/tensor.h"

namespace weir {

// Copies `count` elements: bytes of plain types, by assignment the others. REQUIRES: both ranges are alive and do not
// overlap, except that they may be the same.
void CopyElements(DType dtype, const void* from, void* to, int64_t count);

// `count` elements of `from`, from element `from_begin` on, to place `to_begin` of `to`. REQUIRES: same type; it fits.
inline void CopyElements(const Tensor& from, int64_t from_begin, Tensor& to, int64_t to_begin, int64_t count) {
  int64_t size = static_cast<int64_t>(SizeOf(from.dtype()));
  CopyElements(from.dtype(), static_cast<const char*>(from.raw_data()) + from_begin * size,
               static_cast<char*>(to.raw_data()) + to_begin * size, count);
}

}  // namespace weir

#endif  // WEIR_TENSOR_COPY_ELEMENTS_H_
