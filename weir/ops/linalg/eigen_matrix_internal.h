// Matrices of a batch as Eigen's.
#ifndef WEIR_OPS_LINALG_EIGEN_MATRIX_INTERNAL_H_
#define WEIR_OPS_LINALG_EIGEN_MATRIX_INTERNAL_H_

#include <Eigen/Core>

#include "weir/ops/linalg/matrix_batch.h"

namespace weir::linalg {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using RealOf = typename Eigen::NumTraits<T>::Real;

// A copy of matrix `i` to compute with in type C.
template <typename T, typename C>
Matrix<C> Load(const Tensor& tensor, int64_t i, int64_t rows, int64_t columns) {
  Matrix<C> out(rows, columns);
  const T* from = tensor.data<T>() + i * rows * columns;
  for (int64_t k = 0; k < rows * columns; ++k) out.data()[k] = static_cast<C>(from[k]);
  return out;
}
// Writes any expression of Eigen as matrix `i`.
template <typename T, typename Expression>
void Store(const Expression& value, Tensor& tensor, int64_t i) {
  using C = typename Expression::Scalar;
  T* to = tensor.data<T>() + i * value.rows() * value.cols();
  if constexpr (std::is_same_v<T, C>) {
    Eigen::Map<Matrix<T>>(to, value.rows(), value.cols()) = value;
  } else {
    const Matrix<C> wide = value;
    for (int64_t k = 0; k < wide.size(); ++k) to[k] = static_cast<T>(wide.data()[k]);
  }
}

}  // namespace weir::linalg

#endif  // WEIR_OPS_LINALG_EIGEN_MATRIX_INTERNAL_H_
