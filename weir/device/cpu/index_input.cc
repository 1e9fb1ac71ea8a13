#include "weir/device/cpu/index_input.h"

namespace weir {

StatusOr<Dims> IntElements(const Tensor& tensor, std::string_view name) {
  Dims out;
  bool known = DispatchDType(tensor.dtype(), IntegerTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    out.assign(tensor.span<T>().begin(), tensor.span<T>().end());
  });
  if (!known) return InvalidArgument(name, " must be integers, got ", Name(tensor.dtype()));
  return out;
}

StatusOr<int64_t> IntScalar(const Tensor& tensor, std::string_view name) {
  if (tensor.num_elements() != 1 || tensor.rank() > 1) {
    return InvalidArgument(name, " must be a scalar, got shape ", tensor.shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Dims values, IntElements(tensor, name));
  return values[0];
}

StatusOr<Shape> ShapeInput(const Tensor& tensor, std::string_view name) {
  if (!tensor.shape().IsVector()) {
    return InvalidArgument(name, " must be a vector, got shape ", tensor.shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Dims dims, IntElements(tensor, name));
  return Shape::Make(dims);
}

StatusOr<int> ResolveAxis(int64_t axis, int rank, std::string_view name) {
  if (axis < -rank || axis >= rank) {
    return InvalidArgument(name, " = ", axis, " is not in [", -rank, ", ", rank, ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace weir
