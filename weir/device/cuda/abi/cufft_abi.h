// The part of cuFFT's binary interface that weir uses; see cublaslt_abi.h.
#ifndef WEIR_DEVICE_CUDA_ABI_CUFFT_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_CUFFT_ABI_H_

#include <cstddef>

namespace weir::cuda {

enum CufftResult : int {
  kCufftSuccess = 0,
  kCufftInvalidPlan = 1,
  kCufftAllocFailed = 2,
  kCufftInvalidType = 3,
  kCufftInvalidValue = 4,
  kCufftInternalError = 5,
  kCufftExecFailed = 6,
  kCufftSetupFailed = 7,
  kCufftInvalidSize = 8,
  kCufftNoWorkspace = 13,
  kCufftNotSupported = 16,
};

enum CufftType : int {
  kCufftC2C = 0x29,
  kCufftR2C = 0x2a,
  kCufftC2R = 0x2c,
  kCufftZ2Z = 0x69,
  kCufftD2Z = 0x6a,
  kCufftZ2D = 0x6c,
};

inline constexpr int kCufftForward = -1;
inline constexpr int kCufftInverse = 1;

using CufftHandle = int;

// The functions, by the names that the library exports them under after "cufft".
#define WEIR_CUFFT_FUNCTIONS(X)                                                                                   \
  X(CufftResult, Create, cufftCreate, (CufftHandle * plan))                                                       \
  X(CufftResult, Destroy, cufftDestroy, (CufftHandle plan))                                                       \
  X(CufftResult, SetAutoAllocation, cufftSetAutoAllocation, (CufftHandle plan, int automatic))                    \
  X(CufftResult, MakePlanMany64, cufftMakePlanMany64,                                                             \
    (CufftHandle plan, int rank, long long* n, long long* inembed, long long istride, long long idist,            \
     long long* onembed, long long ostride, long long odist, CufftType type, long long batch, size_t* work_size)) \
  X(CufftResult, SetWorkArea, cufftSetWorkArea, (CufftHandle plan, void* work_area))                              \
  X(CufftResult, SetStream, cufftSetStream, (CufftHandle plan, void* stream))                                     \
  X(CufftResult, ExecC2C, cufftExecC2C, (CufftHandle plan, void* input, void* output, int direction))             \
  X(CufftResult, ExecR2C, cufftExecR2C, (CufftHandle plan, void* input, void* output))                            \
  X(CufftResult, ExecC2R, cufftExecC2R, (CufftHandle plan, void* input, void* output))                            \
  X(CufftResult, ExecZ2Z, cufftExecZ2Z, (CufftHandle plan, void* input, void* output, int direction))             \
  X(CufftResult, ExecD2Z, cufftExecD2Z, (CufftHandle plan, void* input, void* output))                            \
  X(CufftResult, ExecZ2D, cufftExecZ2D, (CufftHandle plan, void* input, void* output))

struct CufftFunctions {
#define WEIR_CUDA_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  WEIR_CUFFT_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_CUFFT_ABI_H_
