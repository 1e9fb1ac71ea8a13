// Comparisons of tensors for tests. Each adds a GoogleTest failure that shows where the tensors differ.
#ifndef WEIR_TESTING_TENSOR_MATCHERS_H_
#define WEIR_TESTING_TENSOR_MATCHERS_H_

#include "weir/tensor/tensor.h"

namespace weir {

// Same type, shape and values; NaN equals NaN, 0 equals -0.
void ExpectTensorEqual(const Tensor& actual, const Tensor& expected);
// As above, but |actual - expected| <= absolute + relative * |expected|; for floating and complex types.
void ExpectTensorNear(const Tensor& actual, const Tensor& expected, double relative = 1e-5, double absolute = 1e-6);

// Tensor literals: TensorOf<float>({2, 2}, {1, 2, 3, 4}).
template <typename T>
Tensor TensorOf(const Shape& shape, std::initializer_list<T> values) {
  return Tensor::FromSpan<T>(std::span<const T>(values.begin(), values.size()), shape);
}
// The values converted from double, for types without literals.
Tensor NumbersOf(DType dtype, const Shape& shape, std::initializer_list<double> values);

}  // namespace weir

#endif  // WEIR_TESTING_TENSOR_MATCHERS_H_
