#include "weir/ops/array/paddings.h"

#include "weir/device/cpu/index_input.h"

namespace weir {

StatusOr<Paddings> ReadPaddings(const Tensor& input, const Shape& shape) {
  if (!input.shape().IsMatrix() || input.dim(1) != 2) {
    return InvalidArgument("paddings must be a matrix with 2 columns: ", input.shape().ToString());
  }
  if (input.dim(0) != shape.rank()) {
    return InvalidArgument("The first dimension of paddings must be the rank of inputs", input.shape().ToString(), " ",
                           shape.ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Dims values, IntElements(input, "paddings"));
  Paddings out;
  for (int d = 0; d < shape.rank(); ++d) out.push_back({values[2 * d], values[2 * d + 1]});
  return out;
}

StatusOr<Shape> PaddedShape(const Shape& shape, const Paddings& paddings) {
  Dims dims;
  for (int d = 0; d < shape.rank(); ++d) {
    auto size = CheckedAdd(paddings[d].before, paddings[d].after);
    if (size) size = CheckedAdd(*size, shape.dim(d));
    if (!size) return InvalidArgument("Padded size of dimension ", d, " is too large");
    dims.push_back(*size);
  }
  return Shape::Make(dims);
}

}  // namespace weir
