// NVIDIA's libraries, found and loaded at run time when first needed. weir links none of them: a machine without a GPU
// needs none, and one that is missing fails only what needs it.
//
// A library is looked for in $WEIR_CUDA_PATH, beside weir itself, in NVIDIA's wheels of the Python environment
// ($VIRTUAL_ENV, or where weir's Python package is installed), in the toolkit ($CUDA_HOME, /usr/local/cuda), and then
// by name, as the system finds it.
#ifndef WEIR_DEVICE_CUDA_SHARED_LIBRARIES_H_
#define WEIR_DEVICE_CUDA_SHARED_LIBRARIES_H_

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"

namespace weir::cuda {

enum class CudaLibrary { kDriver, kNvrtc, kCublasLt, kCudnn, kCufft, kCusolver, kNccl, kCupti };
inline constexpr int kNumCudaLibraries = 8;

std::string_view Name(CudaLibrary library);  // "cuBLASLt"

// The library's handle for dlsym; loaded by the first call and kept. NOT_FOUND says where it was looked for and what to
// install. Thread-safe.
StatusOr<void*> OpenCudaLibrary(CudaLibrary library);

// The file that OpenCudaLibrary loaded, or would load; empty if there is none.
std::string CudaLibraryFile(CudaLibrary library);

// A function of a loaded library; NOT_FOUND if it has none of that name.
StatusOr<void*> FindSymbol(void* library, const char* name);

// Fills a struct of function pointers made with an X-macro of (member, symbol, parameters).
#define WEIR_CUDA_LOAD(member, symbol, parameters)                                           \
  {                                                                                          \
    WEIR_ASSIGN_OR_RETURN(void* found_function, ::weir::cuda::FindSymbol(library, #symbol)); \
    functions.member = reinterpret_cast<decltype(functions.member)>(found_function);         \
  }

// The files that would be tried, best first; for tests and messages.
std::vector<std::string> CandidateFiles(CudaLibrary library);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_SHARED_LIBRARIES_H_
