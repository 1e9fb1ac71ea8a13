#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/MatrixFunctions>

#include "weir/ops/linalg/decompositions.h"

namespace weir::linalg {
namespace {

using Matrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The logarithm of a triangular matrix with eigenvalues close to each other, by repeated square roots and a Pade
// approximation. Eigen's own loop has no end where a root is not finite; this one has.
template <typename M>
struct TriangularLogarithm {
  using T = typename M::Scalar;
  using R = typename M::RealScalar;

  M compute(const M& a) const {
    M out(a.rows(), a.rows());
    if (a.rows() == 1) {
      out(0, 0) = std::log(a(0, 0));
      return out;
    }
    if (a.rows() == 2) {
      Eigen::internal::matrix_log_compute_2x2(a, out);
      return out;
    }
    constexpr R kLargestNorm = R(2.6429608311114350e-1);  // for which the approximation holds in double
    M power = a, root;
    bool extra = false;
    for (int roots = 0; roots < 200; ++roots) {
      const R norm = (power - M::Identity(a.rows(), a.rows())).cwiseAbs().colwise().sum().maxCoeff();
      if (!std::isfinite(norm)) break;
      if (norm < kLargestNorm) {
        const int degree = Eigen::internal::matrix_log_get_pade_degree(norm);
        if (extra || degree - Eigen::internal::matrix_log_get_pade_degree(norm / R(2)) <= 1) {
          Eigen::internal::matrix_log_compute_pade(out, power, degree);
          return out * std::pow(R(2), R(roots));
        }
        extra = true;
      }
      Eigen::matrix_sqrt_triangular(power, root);
      power = root.template triangularView<Eigen::Upper>();
    }
    return M::Constant(a.rows(), a.rows(), T(std::numeric_limits<R>::quiet_NaN()));
  }
};

}  // namespace

void SquareRoot(const Complex* a, int64_t n, Complex* out) {
  const Matrix matrix = Eigen::Map<const Matrix>(a, n, n);
  Eigen::Map<Matrix>(out, n, n) = matrix.sqrt();
}

void Logarithm(const Complex* a, int64_t n, Complex* out) {
  const Matrix matrix = Eigen::Map<const Matrix>(a, n, n);
  // Eigen works on blocks of the triangular factor in this type.
  TriangularLogarithm<Eigen::MatrixXcd> atomic;
  Matrix result;
  Eigen::internal::matrix_function_compute<Matrix>::run(matrix, atomic, result);
  Eigen::Map<Matrix>(out, n, n) = result;
}

}  // namespace weir::linalg
