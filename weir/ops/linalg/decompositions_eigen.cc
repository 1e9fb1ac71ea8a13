#include "weir/ops/linalg/eigenvalues_internal.h"

namespace weir::linalg {
namespace {

using Matrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

bool SelfAdjointEigenvalues(const Complex* a, int64_t n, double* e, Complex* v) {
  const Matrix matrix = Eigen::Map<const Matrix>(a, n, n);
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(
      matrix, v != nullptr ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success) return false;
  Eigen::Map<Eigen::VectorXd>(e, n) = solver.eigenvalues();
  if (v != nullptr) Eigen::Map<Matrix>(v, n, n) = solver.eigenvectors();
  return true;
}

bool Eigenvalues(const std::complex<float>* a, int64_t n, std::complex<float>* e, std::complex<float>* v) {
  return SolveEigenvalues<Eigen::ComplexEigenSolver>(a, n, e, v);
}
bool Eigenvalues(const Complex* a, int64_t n, Complex* e, Complex* v) {
  return SolveEigenvalues<Eigen::ComplexEigenSolver>(a, n, e, v);
}

}  // namespace weir::linalg
