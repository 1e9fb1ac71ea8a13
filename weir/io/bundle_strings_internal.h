// Tensors of a bundle whose elements are not plain bytes.
#ifndef WEIR_IO_BUNDLE_STRINGS_INTERNAL_H_
#define WEIR_IO_BUNDLE_STRINGS_INTERNAL_H_

#include <string_view>

#include "weir/tensor/tensor.h"

namespace weir {

// Strings or variants. `masked_crc` is the checksum of the tensor's entry. DATA_LOSS if the bytes are not such a
// tensor.
StatusOr<Tensor> ParseBundleElements(std::string_view bytes, DType dtype, const Shape& shape, uint32_t masked_crc);
// The bytes of such a tensor, and the masked checksum of its entry. UNIMPLEMENTED for resources, and for variants that
// cannot leave the process.
StatusOr<std::string> FormatBundleElements(const Tensor& tensor, uint32_t* masked_crc);

}  // namespace weir

#endif  // WEIR_IO_BUNDLE_STRINGS_INTERNAL_H_
