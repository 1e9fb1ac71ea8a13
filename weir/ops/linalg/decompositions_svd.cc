#include <Eigen/SVD>

#include "weir/ops/linalg/decompositions.h"

namespace weir::linalg {
namespace {

using Matrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

void FactorSvd(const Complex* a, int64_t m, int64_t n, bool full, double* s, Complex* u, Complex* v) {
  unsigned options = 0;
  if (u != nullptr) {
    options = full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  }
  const Matrix matrix = Eigen::Map<const Matrix>(a, m, n);
  const Eigen::BDCSVD<Matrix> svd(matrix, options);
  Eigen::Map<Eigen::VectorXd>(s, svd.singularValues().size()) = svd.singularValues();
  if (u == nullptr) return;
  Eigen::Map<Matrix>(u, svd.matrixU().rows(), svd.matrixU().cols()) = svd.matrixU();
  Eigen::Map<Matrix>(v, svd.matrixV().rows(), svd.matrixV().cols()) = svd.matrixV();
}

}  // namespace weir::linalg
