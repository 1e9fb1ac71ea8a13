// What decompositions_eigen.cc and decompositions_eigen_real.cc share. They are two, since each solver takes ten
// seconds to compile.
#ifndef WEIR_OPS_LINALG_EIGENVALUES_INTERNAL_H_
#define WEIR_OPS_LINALG_EIGENVALUES_INTERNAL_H_

#include <Eigen/Eigenvalues>

#include "weir/ops/linalg/decompositions.h"

namespace weir::linalg {

template <template <typename> typename Solver, typename T>
bool SolveEigenvalues(const T* a, int64_t n, ComplexOf<T>* e, ComplexOf<T>* v) {
  using Square = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Results = Eigen::Matrix<ComplexOf<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Square matrix = Eigen::Map<const Square>(a, n, n);
  const Solver<Square> solver(matrix, v != nullptr);
  if (solver.info() != Eigen::Success) return false;
  Eigen::Map<Eigen::Vector<ComplexOf<T>, Eigen::Dynamic>>(e, n) = solver.eigenvalues();
  if (v != nullptr) Eigen::Map<Results>(v, n, n) = solver.eigenvectors();
  return true;
}

}  // namespace weir::linalg

#endif  // WEIR_OPS_LINALG_EIGENVALUES_INTERNAL_H_
