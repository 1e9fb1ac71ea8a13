// Paddings of a tensor, read from an input.
#ifndef WEIR_OPS_ARRAY_PADDINGS_H_
#define WEIR_OPS_ARRAY_PADDINGS_H_

#include <vector>

#include "weir/tensor/tensor.h"

namespace weir {

struct Padding {
  int64_t before;
  int64_t after;
};
using Paddings = std::vector<Padding>;

// A row of before and after for each dimension of `shape`.
StatusOr<Paddings> ReadPaddings(const Tensor& input, const Shape& shape);

StatusOr<Shape> PaddedShape(const Shape& shape, const Paddings& paddings);

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_PADDINGS_H_
