// The part of cuSOLVER's dense binary interface that weir uses; see cublaslt_abi.h. Matrices are column-major. `info`
// is an int in device memory: 0, or -i for a bad i-th parameter, or what the routine says of a positive value.
#ifndef WEIR_DEVICE_CUDA_ABI_CUSOLVER_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_CUSOLVER_ABI_H_

#include "weir/device/cuda/abi/cublaslt_abi.h"

namespace weir::cuda {

enum CusolverStatus : int {
  kCusolverSuccess = 0,
  kCusolverNotInitialized = 1,
  kCusolverAllocFailed = 2,
  kCusolverInvalidValue = 3,
  kCusolverExecutionFailed = 6,
  kCusolverInternalError = 7,
  kCusolverNotSupported = 9,
};

enum CusolverEigMode : int { kCusolverNoVectors = 0, kCusolverVectors = 1 };

using CusolverHandle = struct CusolverHandleOpaque*;

#define WEIR_CUSOLVER_HANDLE_FUNCTIONS(X)                                \
  X(CusolverStatus, Create, cusolverDnCreate, (CusolverHandle * handle)) \
  X(CusolverStatus, Destroy, cusolverDnDestroy, (CusolverHandle handle)) \
  X(CusolverStatus, SetStream, cusolverDnSetStream, (CusolverHandle handle, void* stream))

struct CusolverHandleFunctions {
#define WEIR_CUDA_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  WEIR_CUSOLVER_HANDLE_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

// The routines of one element type. The exported name is "cusolverDn", then S, D, C or Z, then the member's name; for
// complex types orgqr is called ungqr and syevd heevd.
#define WEIR_CUSOLVER_TYPED_FUNCTIONS(X)                                                                              \
  X(CusolverStatus, potrf_bufferSize, potrf_bufferSize,                                                               \
    (CusolverHandle handle, CublasFillMode uplo, int n, void* a, int lda, int* size))                                 \
  X(CusolverStatus, potrf, potrf,                                                                                     \
    (CusolverHandle handle, CublasFillMode uplo, int n, void* a, int lda, void* work, int size, int* info))           \
  X(CusolverStatus, potrfBatched, potrfBatched,                                                                       \
    (CusolverHandle handle, CublasFillMode uplo, int n, void** a, int lda, int* info, int batch))                     \
  X(CusolverStatus, getrf_bufferSize, getrf_bufferSize,                                                               \
    (CusolverHandle handle, int m, int n, void* a, int lda, int* size))                                               \
  X(CusolverStatus, getrf, getrf,                                                                                     \
    (CusolverHandle handle, int m, int n, void* a, int lda, void* work, int* pivots, int* info))                      \
  X(CusolverStatus, getrs, getrs,                                                                                     \
    (CusolverHandle handle, CublasOperation operation, int n, int nrhs, const void* a, int lda, const int* pivots,    \
     void* b, int ldb, int* info))                                                                                    \
  X(CusolverStatus, geqrf_bufferSize, geqrf_bufferSize,                                                               \
    (CusolverHandle handle, int m, int n, void* a, int lda, int* size))                                               \
  X(CusolverStatus, geqrf, geqrf,                                                                                     \
    (CusolverHandle handle, int m, int n, void* a, int lda, void* tau, void* work, int size, int* info))              \
  X(CusolverStatus, orgqr_bufferSize, orgqr_bufferSize,                                                               \
    (CusolverHandle handle, int m, int n, int k, const void* a, int lda, const void* tau, int* size))                 \
  X(CusolverStatus, orgqr, orgqr,                                                                                     \
    (CusolverHandle handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info)) \
  X(CusolverStatus, syevd_bufferSize, syevd_bufferSize,                                                               \
    (CusolverHandle handle, CusolverEigMode mode, CublasFillMode uplo, int n, const void* a, int lda, const void* w,  \
     int* size))                                                                                                      \
  X(CusolverStatus, syevd, syevd,                                                                                     \
    (CusolverHandle handle, CusolverEigMode mode, CublasFillMode uplo, int n, void* a, int lda, void* w, void* work,  \
     int size, int* info))                                                                                            \
  X(CusolverStatus, gesvd_bufferSize, gesvd_bufferSize, (CusolverHandle handle, int m, int n, int* size))             \
  X(CusolverStatus, gesvd, gesvd,                                                                                     \
    (CusolverHandle handle, signed char jobu, signed char jobvt, int m, int n, void* a, int lda, void* s, void* u,    \
     int ldu, void* vt, int ldvt, void* work, int size, void* rwork, int* info))

struct CusolverTypedFunctions {
#define WEIR_CUDA_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  WEIR_CUSOLVER_TYPED_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_CUSOLVER_ABI_H_
