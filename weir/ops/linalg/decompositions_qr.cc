#include <Eigen/QR>

#include "weir/ops/linalg/decompositions.h"

namespace weir::linalg {
namespace {

using Matrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

void FactorQr(const Complex* a, int64_t m, int64_t n, int64_t k, Complex* q, Complex* r) {
  const Matrix matrix = Eigen::Map<const Matrix>(a, m, n);
  const Eigen::HouseholderQR<Matrix> qr(matrix);
  Eigen::Map<Matrix>(r, k, n) = qr.matrixQR().topRows(k).triangularView<Eigen::Upper>();
  Matrix basis = Matrix::Identity(m, k);
  basis.applyOnTheLeft(qr.householderQ());
  Eigen::Map<Matrix>(q, m, k) = basis;
}

void LeastSquares(const Complex* a, int64_t m, int64_t n, const Complex* b, int64_t k, Complex* x) {
  const Matrix matrix = Eigen::Map<const Matrix>(a, m, n), rhs = Eigen::Map<const Matrix>(b, m, k);
  Eigen::Map<Matrix>(x, n, k) = matrix.completeOrthogonalDecomposition().solve(rhs);
}

}  // namespace weir::linalg
