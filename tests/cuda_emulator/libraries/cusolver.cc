// A stand-in for libcusolver.so.12 on the emulated driver: LAPACK's routines in double precision.
#include <Eigen/Dense>
#include <type_traits>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "weir/device/cuda/abi/cusolver_abi.h"

namespace weir::cuda {

struct CusolverHandleOpaque {
  void* stream = nullptr;
};

namespace {

using cuda_emulator::Convert;
using cuda_emulator::HostPointer;

template <typename T>
constexpr bool kIsComplex = !std::is_floating_point_v<T>;
template <typename T>
using Wide = std::conditional_t<kIsComplex<T>, std::complex<double>, double>;
template <typename T>
using Real = typename Eigen::NumTraits<T>::Real;
template <typename T>
using Matrix = Eigen::Matrix<Wide<T>, Eigen::Dynamic, Eigen::Dynamic>;

constexpr int kWorkSize = 64;  // elements

template <typename T>
Matrix<T> Load(const T* a, int rows, int cols, int ld) {
  Matrix<T> matrix(rows, cols);
  for (int j = 0; j < cols; ++j) {
    for (int i = 0; i < rows; ++i) matrix(i, j) = Convert<Wide<T>>(a[static_cast<int64_t>(j) * ld + i]);
  }
  return matrix;
}

template <typename T, typename Derived>
void Store(const Eigen::MatrixBase<Derived>& matrix, T* a, int ld) {
  for (int j = 0; j < matrix.cols(); ++j) {
    for (int i = 0; i < matrix.rows(); ++i) a[static_cast<int64_t>(j) * ld + i] = Convert<T>(Wide<T>(matrix(i, j)));
  }
}

CusolverStatus Submit(CusolverHandle handle, std::function<void()> work) {
  if (handle == nullptr) return kCusolverNotInitialized;
  return cuda_emulator::Enqueue(handle->stream, std::move(work)) ? kCusolverSuccess : kCusolverExecutionFailed;
}

// The matrix of which only one triangle is stored.
template <typename T>
Matrix<T> LoadSelfAdjoint(const T* a, int n, int lda, CublasFillMode uplo) {
  Matrix<T> matrix = Load(a, n, n, lda);
  if (uplo == kCublasFillLower) return matrix.template selfadjointView<Eigen::Lower>();
  return matrix.template selfadjointView<Eigen::Upper>();
}

// Returns the order of the first minor that is not positive, or 0. The other triangle of a is left alone.
template <typename T>
int Cholesky(T* a, int n, int lda, CublasFillMode uplo) {
  Matrix<T> l = LoadSelfAdjoint(a, n, lda, uplo);
  int info = 0;
  for (int j = 0; j < n && info == 0; ++j) {
    for (int k = 0; k < j; ++k) {
      const Wide<T> factor = Eigen::numext::conj(l(j, k));
      for (int i = j; i < n; ++i) l(i, j) -= l(i, k) * factor;
    }
    const double pivot = Eigen::numext::real(l(j, j));
    if (!(pivot > 0)) {
      info = j + 1;
      break;
    }
    const double root = std::sqrt(pivot);
    for (int i = j; i < n; ++i) l(i, j) /= root;
  }
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      const bool lower = uplo == kCublasFillLower;
      a[lower ? static_cast<int64_t>(j) * lda + i : static_cast<int64_t>(i) * lda + j] =
          Convert<T>(lower ? l(i, j) : Wide<T>(Eigen::numext::conj(l(i, j))));
    }
  }
  return info;
}

template <typename T>
int LuDecomposition(T* a, int m, int n, int lda, int* pivots) {
  Matrix<T> lu = Load(a, m, n, lda);
  int info = 0;
  for (int j = 0; j < std::min(m, n); ++j) {
    int pivot = j;
    auto size = [&](int i) {
      return std::abs(Eigen::numext::real(lu(i, j))) + std::abs(Eigen::numext::imag(lu(i, j)));
    };
    for (int i = j + 1; i < m; ++i) {
      if (size(i) > size(pivot)) pivot = i;
    }
    if (pivots != nullptr) {
      pivots[j] = pivot + 1;
      if (pivot != j) lu.row(j).swap(lu.row(pivot));
    }
    if (lu(j, j) == Wide<T>(0)) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (int i = j + 1; i < m; ++i) {
      lu(i, j) /= lu(j, j);
      for (int k = j + 1; k < n; ++k) lu(i, k) -= lu(i, j) * lu(j, k);
    }
  }
  Store(lu, a, lda);
  return info;
}

template <typename T>
void SolveByLu(CublasOperation operation, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {
  const Matrix<T> lu = Load(a, n, n, lda);
  Matrix<T> x = Load(b, n, nrhs, ldb);
  auto swap_rows = [&](int i) {
    if (pivots != nullptr && pivots[i] - 1 != i) x.row(i).swap(x.row(pivots[i] - 1));
  };
  if (operation == kCublasOpN) {
    for (int i = 0; i < n; ++i) swap_rows(i);
    lu.template triangularView<Eigen::UnitLower>().solveInPlace(x);
    lu.template triangularView<Eigen::Upper>().solveInPlace(x);
  } else {
    const Matrix<T> transposed = operation == kCublasOpT ? Matrix<T>(lu.transpose()) : Matrix<T>(lu.adjoint());
    transposed.template triangularView<Eigen::Lower>().solveInPlace(x);
    transposed.template triangularView<Eigen::UnitUpper>().solveInPlace(x);
    for (int i = n - 1; i >= 0; --i) swap_rows(i);
  }
  Store(x, b, ldb);
}

// Householder reflections H = I - tau v v^H; the heads of the vectors, which are 1, are not stored.
template <typename T>
void QrDecomposition(T* a, int m, int n, int lda, T* tau) {
  Matrix<T> r = Load(a, m, n, lda);
  for (int j = 0; j < std::min(m, n); ++j) {
    const Wide<T> alpha = r(j, j);
    const double tail = r.col(j).tail(m - j - 1).squaredNorm();
    Wide<T> factor(0);
    if (tail != 0 || Eigen::numext::imag(alpha) != 0) {
      const double norm = std::sqrt(Eigen::numext::abs2(alpha) + tail);
      const double beta = Eigen::numext::real(alpha) >= 0 ? -norm : norm;
      factor = (beta - alpha) / beta;
      r.col(j).tail(m - j - 1) /= alpha - beta;
      r(j, j) = beta;
      for (int k = j + 1; k < n; ++k) {
        Wide<T> dot = r(j, k) + r.col(j).tail(m - j - 1).dot(r.col(k).tail(m - j - 1));
        dot *= Eigen::numext::conj(factor);
        r(j, k) -= dot;
        r.col(k).tail(m - j - 1) -= dot * r.col(j).tail(m - j - 1);
      }
    }
    tau[j] = Convert<T>(factor);
  }
  Store(r, a, lda);
}

template <typename T>
void MakeQ(T* a, int m, int n, int k, int lda, const T* tau) {
  const Matrix<T> reflections = Load(a, m, n, lda);
  Matrix<T> q = Matrix<T>::Identity(m, n);
  for (int j = k - 1; j >= 0; --j) {
    Eigen::Matrix<Wide<T>, Eigen::Dynamic, 1> v = reflections.col(j);
    v.head(j).setZero();
    v(j) = 1;
    q -= Convert<Wide<T>>(tau[j]) * v * (v.adjoint() * q);
  }
  Store(q, a, lda);
}

template <typename T>
void Eigenvalues(CusolverEigMode mode, CublasFillMode uplo, int n, T* a, int lda, Real<T>* w) {
  Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(
      LoadSelfAdjoint(a, n, lda, uplo), mode == kCusolverVectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  for (int i = 0; i < n; ++i) w[i] = static_cast<Real<T>>(solver.eigenvalues()(i));
  if (mode == kCusolverVectors) Store(solver.eigenvectors(), a, lda);
}

template <typename T>
void SingularValues(char jobu, char jobvt, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt) {
  const Matrix<T> matrix = Load(a, m, n, lda);
  Eigen::JacobiSVD<Matrix<T>> svd(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  for (int i = 0; i < n; ++i) s[i] = static_cast<Real<T>>(svd.singularValues()(i));
  if (jobu == 'A') Store(svd.matrixU(), u, ldu);
  if (jobu == 'S') Store(svd.matrixU().leftCols(n), u, ldu);
  if (jobvt == 'A' || jobvt == 'S') Store(svd.matrixV().adjoint(), vt, ldvt);
}

}  // namespace
}  // namespace weir::cuda

using namespace weir::cuda;

WEIR_EXPORT CusolverStatus cusolverDnCreate(CusolverHandle* handle) {
  if (handle == nullptr) return kCusolverInvalidValue;
  *handle = new CusolverHandleOpaque;
  return kCusolverSuccess;
}

WEIR_EXPORT CusolverStatus cusolverDnDestroy(CusolverHandle handle) {
  delete handle;
  return kCusolverSuccess;
}

WEIR_EXPORT CusolverStatus cusolverDnSetStream(CusolverHandle handle, void* stream) {
  if (handle == nullptr) return kCusolverNotInitialized;
  handle->stream = stream;
  return kCusolverSuccess;
}

// A macro because each element type has names of its own.
#define WEIR_ROUTINES(T, letter, orgqr_name, syevd_name)                                                               \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##potrf_bufferSize(CusolverHandle handle, CublasFillMode, int n, void*, \
                                                                  int lda, int* size) {                                \
    if (handle == nullptr) return kCusolverNotInitialized;                                                             \
    if (n < 0 || lda < std::max(1, n) || size == nullptr) return kCusolverInvalidValue;                                \
    *size = kWorkSize;                                                                                                 \
    return kCusolverSuccess;                                                                                           \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##potrf(CusolverHandle handle, CublasFillMode uplo, int n, void* a,     \
                                                       int lda, void* work, int size, int* info) {                     \
    if (n < 0 || lda < std::max(1, n) || size < kWorkSize || work == nullptr) return kCusolverInvalidValue;            \
    return Submit(handle, [=] { *HostPointer<int>(info) = Cholesky(HostPointer<T>(a), n, lda, uplo); });               \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##potrfBatched(CusolverHandle handle, CublasFillMode uplo, int n,       \
                                                              void** a, int lda, int* info, int batch) {               \
    if (n < 0 || lda < std::max(1, n) || batch < 1) return kCusolverInvalidValue;                                      \
    return Submit(handle, [=] {                                                                                        \
      for (int i = 0; i < batch; ++i) {                                                                                \
        HostPointer<int>(info)[i] = Cholesky(HostPointer<T>(HostPointer<void*>(a)[i]), n, lda, uplo);                  \
      }                                                                                                                \
    });                                                                                                                \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##getrf_bufferSize(CusolverHandle handle, int m, int n, void*, int lda, \
                                                                  int* size) {                                         \
    if (handle == nullptr) return kCusolverNotInitialized;                                                             \
    if (m < 0 || n < 0 || lda < std::max(1, m) || size == nullptr) return kCusolverInvalidValue;                       \
    *size = kWorkSize;                                                                                                 \
    return kCusolverSuccess;                                                                                           \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##getrf(CusolverHandle handle, int m, int n, void* a, int lda,          \
                                                       void* work, int* pivots, int* info) {                           \
    if (m < 0 || n < 0 || lda < std::max(1, m) || work == nullptr) return kCusolverInvalidValue;                       \
    return Submit(handle, [=] {                                                                                        \
      *HostPointer<int>(info) = LuDecomposition(HostPointer<T>(a), m, n, lda, HostPointer<int>(pivots));               \
    });                                                                                                                \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##getrs(CusolverHandle handle, CublasOperation operation, int n,        \
                                                       int nrhs, const void* a, int lda, const int* pivots, void* b,   \
                                                       int ldb, int* info) {                                           \
    if (n < 0 || nrhs < 0 || lda < std::max(1, n) || ldb < std::max(1, n)) return kCusolverInvalidValue;               \
    return Submit(handle, [=] {                                                                                        \
      SolveByLu(operation, n, nrhs, HostPointer<const T>(a), lda, HostPointer<const int>(pivots), HostPointer<T>(b),   \
                ldb);                                                                                                  \
      *HostPointer<int>(info) = 0;                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##geqrf_bufferSize(CusolverHandle handle, int m, int n, void*, int lda, \
                                                                  int* size) {                                         \
    if (handle == nullptr) return kCusolverNotInitialized;                                                             \
    if (m < 0 || n < 0 || lda < std::max(1, m) || size == nullptr) return kCusolverInvalidValue;                       \
    *size = kWorkSize;                                                                                                 \
    return kCusolverSuccess;                                                                                           \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##geqrf(CusolverHandle handle, int m, int n, void* a, int lda,          \
                                                       void* tau, void* work, int size, int* info) {                   \
    if (m < 0 || n < 0 || lda < std::max(1, m) || size < kWorkSize || work == nullptr) return kCusolverInvalidValue;   \
    return Submit(handle, [=] {                                                                                        \
      QrDecomposition(HostPointer<T>(a), m, n, lda, HostPointer<T>(tau));                                              \
      *HostPointer<int>(info) = 0;                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##orgqr_name##_bufferSize(                                              \
      CusolverHandle handle, int m, int n, int k, const void*, int lda, const void*, int* size) {                      \
    if (handle == nullptr) return kCusolverNotInitialized;                                                             \
    if (m < 0 || n < 0 || n > m || k < 0 || k > n || lda < std::max(1, m) || size == nullptr) {                        \
      return kCusolverInvalidValue;                                                                                    \
    }                                                                                                                  \
    *size = kWorkSize;                                                                                                 \
    return kCusolverSuccess;                                                                                           \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##orgqr_name(CusolverHandle handle, int m, int n, int k, void* a,       \
                                                            int lda, const void* tau, void* work, int size,            \
                                                            int* info) {                                               \
    if (m < 0 || n < 0 || n > m || k < 0 || k > n || lda < std::max(1, m) || size < kWorkSize || work == nullptr) {    \
      return kCusolverInvalidValue;                                                                                    \
    }                                                                                                                  \
    return Submit(handle, [=] {                                                                                        \
      MakeQ(HostPointer<T>(a), m, n, k, lda, HostPointer<const T>(tau));                                               \
      *HostPointer<int>(info) = 0;                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##syevd_name##_bufferSize(                                              \
      CusolverHandle handle, CusolverEigMode, CublasFillMode, int n, const void*, int lda, const void*, int* size) {   \
    if (handle == nullptr) return kCusolverNotInitialized;                                                             \
    if (n < 0 || lda < std::max(1, n) || size == nullptr) return kCusolverInvalidValue;                                \
    *size = kWorkSize;                                                                                                 \
    return kCusolverSuccess;                                                                                           \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##syevd_name(CusolverHandle handle, CusolverEigMode mode,               \
                                                            CublasFillMode uplo, int n, void* a, int lda, void* w,     \
                                                            void* work, int size, int* info) {                         \
    if (n < 0 || lda < std::max(1, n) || size < kWorkSize || work == nullptr) return kCusolverInvalidValue;            \
    return Submit(handle, [=] {                                                                                        \
      Eigenvalues(mode, uplo, n, HostPointer<T>(a), lda, HostPointer<Real<T>>(w));                                     \
      *HostPointer<int>(info) = 0;                                                                                     \
    });                                                                                                                \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##gesvd_bufferSize(CusolverHandle handle, int m, int n, int* size) {    \
    if (handle == nullptr) return kCusolverNotInitialized;                                                             \
    if (n < 0 || m < n || size == nullptr) return kCusolverInvalidValue;                                               \
    *size = kWorkSize;                                                                                                 \
    return kCusolverSuccess;                                                                                           \
  }                                                                                                                    \
  WEIR_EXPORT CusolverStatus cusolverDn##letter##gesvd(CusolverHandle handle, signed char jobu, signed char jobvt,     \
                                                       int m, int n, void* a, int lda, void* s, void* u, int ldu,      \
                                                       void* vt, int ldvt, void* work, int size, void*, int* info) {   \
    if (n < 0 || m < n || lda < std::max(1, m) || size < kWorkSize || work == nullptr) return kCusolverInvalidValue;   \
    if ((jobu != 'N' && ldu < m) || (jobvt != 'N' && ldvt < n)) return kCusolverInvalidValue;                          \
    return Submit(handle, [=] {                                                                                        \
      SingularValues(static_cast<char>(jobu), static_cast<char>(jobvt), m, n, HostPointer<T>(a), lda,                  \
                     HostPointer<Real<T>>(s), HostPointer<T>(u), ldu, HostPointer<T>(vt), ldvt);                       \
      *HostPointer<int>(info) = 0;                                                                                     \
    });                                                                                                                \
  }

WEIR_ROUTINES(float, S, orgqr, syevd)
WEIR_ROUTINES(double, D, orgqr, syevd)
WEIR_ROUTINES(std::complex<float>, C, ungqr, heevd)
WEIR_ROUTINES(std::complex<double>, Z, ungqr, heevd)

WEIR_CUSOLVER_HANDLE_FUNCTIONS(WEIR_CHECK_SIGNATURE)
#define WEIR_CHECK_ROUTINE(type, name, symbol, parameters) \
  static_assert(std::is_same_v<decltype(&cusolverDnS##symbol), type(*) parameters>);
WEIR_CUSOLVER_TYPED_FUNCTIONS(WEIR_CHECK_ROUTINE)
