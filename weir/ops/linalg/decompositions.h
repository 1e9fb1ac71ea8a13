// Decompositions of one matrix by Eigen, in double precision if nothing else is said. What includes Eigen here includes
// nothing else, since it compiles slowly: these sources are compiled anew only when they change themselves.
//
// Matrices are dense, row after row. All are complex: real ones stay real on the way, and Eigen is compiled once.
#ifndef WEIR_OPS_LINALG_DECOMPOSITIONS_H_
#define WEIR_OPS_LINALG_DECOMPOSITIONS_H_

#include <complex>
#include <cstdint>
#include <type_traits>

namespace weir::linalg {

using Complex = std::complex<double>;

// a[m, n] = q[m, k] r[k, n], where k is m or less. REQUIRES: all sizes > 0.
void FactorQr(const Complex* a, int64_t m, int64_t n, int64_t k, Complex* q, Complex* r);

// Singular values, largest first, and if `u` is not null their vectors: u[m, m] and v[n, n] if `full`, else only
// min(m, n) columns. REQUIRES: all sizes > 0, all elements finite.
void FactorSvd(const Complex* a, int64_t m, int64_t n, bool full, double* s, Complex* u, Complex* v);

// Eigenvalues, smallest first, and if `v` is not null the eigenvectors of a self-adjoint matrix, of which the lower
// triangle is read. False if there is no answer.
bool SelfAdjointEigenvalues(const Complex* a, int64_t n, double* e, Complex* v);

// The same of any square matrix, in the order in which they are found. It depends on the method, which is another one
// for real matrices, and on the precision; so there are four: of float, double and their complex types.
// REQUIRES: all elements finite.
template <typename T>
using ComplexOf =
    std::complex<std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>>, float, double>>;
bool Eigenvalues(const float* a, int64_t n, std::complex<float>* e, std::complex<float>* v);
bool Eigenvalues(const double* a, int64_t n, Complex* e, Complex* v);
bool Eigenvalues(const std::complex<float>* a, int64_t n, std::complex<float>* e, std::complex<float>* v);
bool Eigenvalues(const Complex* a, int64_t n, Complex* e, Complex* v);

// x[n, k] with the smallest |a x - b|, and of these the smallest x. REQUIRES: all sizes > 0.
void LeastSquares(const Complex* a, int64_t m, int64_t n, const Complex* b, int64_t k, Complex* x);

// The principal square root. REQUIRES: all elements finite.
void SquareRoot(const Complex* a, int64_t n, Complex* out);

// The principal logarithm; NaN where there is none. REQUIRES: all elements finite.
void Logarithm(const Complex* a, int64_t n, Complex* out);

}  // namespace weir::linalg

#endif  // WEIR_OPS_LINALG_DECOMPOSITIONS_H_
