#include "weir/ops/linalg/eigenvalues_internal.h"

namespace weir::linalg {

bool Eigenvalues(const float* a, int64_t n, std::complex<float>* e, std::complex<float>* v) {
  return SolveEigenvalues<Eigen::EigenSolver>(a, n, e, v);
}
bool Eigenvalues(const double* a, int64_t n, Complex* e, Complex* v) {
  return SolveEigenvalues<Eigen::EigenSolver>(a, n, e, v);
}

}  // namespace weir::linalg
