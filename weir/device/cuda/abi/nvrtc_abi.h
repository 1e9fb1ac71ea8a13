// The part of NVRTC's binary interface that weir uses (see driver_abi.h).
#ifndef WEIR_DEVICE_CUDA_ABI_NVRTC_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_NVRTC_ABI_H_

#include <cstddef>

namespace weir::cuda {

using NvrtcResult = int;
using NvrtcProgram = struct NvrtcProgramOpaque*;

#define WEIR_NVRTC_FUNCTIONS(X)                                                             \
  X(Version, nvrtcVersion, (int*, int*))                                                    \
  X(GetNumSupportedArchs, nvrtcGetNumSupportedArchs, (int*))                                \
  X(GetSupportedArchs, nvrtcGetSupportedArchs, (int*))                                      \
  X(CreateProgram, nvrtcCreateProgram,                                                      \
    (NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(DestroyProgram, nvrtcDestroyProgram, (NvrtcProgram*))                                   \
  X(CompileProgram, nvrtcCompileProgram, (NvrtcProgram, int, const char* const*))           \
  X(AddNameExpression, nvrtcAddNameExpression, (NvrtcProgram, const char*))                 \
  X(GetLoweredName, nvrtcGetLoweredName, (NvrtcProgram, const char*, const char**))         \
  X(GetProgramLogSize, nvrtcGetProgramLogSize, (NvrtcProgram, size_t*))                     \
  X(GetProgramLog, nvrtcGetProgramLog, (NvrtcProgram, char*))                               \
  X(GetPTXSize, nvrtcGetPTXSize, (NvrtcProgram, size_t*))                                   \
  X(GetPTX, nvrtcGetPTX, (NvrtcProgram, char*))                                             \
  X(GetCUBINSize, nvrtcGetCUBINSize, (NvrtcProgram, size_t*))                               \
  X(GetCUBIN, nvrtcGetCUBIN, (NvrtcProgram, char*))

struct NvrtcFunctions {
#define WEIR_CUDA_MEMBER(name, symbol, parameters) NvrtcResult(*name) parameters = nullptr;
  WEIR_NVRTC_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_NVRTC_ABI_H_
