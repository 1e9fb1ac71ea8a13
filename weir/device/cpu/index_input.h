// Reading small integer inputs: axes, sizes, paddings.
#ifndef WEIR_DEVICE_CPU_INDEX_INPUT_H_
#define WEIR_DEVICE_CPU_INDEX_INPUT_H_

#include <string_view>

#include "weir/device/cpu/strided_copy.h"

namespace weir {

// All elements of an integer tensor (8 to 64 bits), whatever its shape. INVALID_ARGUMENT if it is of another type.
StatusOr<Dims> IntElements(const Tensor& tensor, std::string_view name);
// The element of an integer scalar (or, leniently, of a one-element vector).
StatusOr<int64_t> IntScalar(const Tensor& tensor, std::string_view name);
// A vector of sizes as a shape. INVALID_ARGUMENT if it is no vector, or a size is negative.
StatusOr<Shape> ShapeInput(const Tensor& tensor, std::string_view name);
// `axis` in [-rank, rank) brought into [0, rank).
StatusOr<int> ResolveAxis(int64_t axis, int rank, std::string_view name = "axis");

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_INDEX_INPUT_H_
