// What all kernels that change colours check first.
#ifndef WEIR_OPS_IMAGE_COLOR_H_
#define WEIR_OPS_IMAGE_COLOR_H_

#include <string_view>

#include "weir/framework/kernel.h"

namespace weir {

// Three channels in the last dimension of at least `min_rank`.
Status CheckColors(const Shape& shape, int min_rank);
Status CheckScalar(const Tensor& tensor, std::string_view name);

}  // namespace weir

#endif  // WEIR_OPS_IMAGE_COLOR_H_
