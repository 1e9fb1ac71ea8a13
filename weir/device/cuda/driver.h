// The CUDA driver, loaded at run time.
#ifndef WEIR_DEVICE_CUDA_DRIVER_H_
#define WEIR_DEVICE_CUDA_DRIVER_H_

#include <string_view>

#include "weir/base/status.h"
#include "weir/device/cuda/abi/driver_abi.h"

namespace weir::cuda {

// The driver's functions; NOT_FOUND on a machine without a driver, UNAVAILABLE if it does not start. Loaded and
// initialised by the first call. Thread-safe.
StatusOr<const DriverFunctions*> LoadDriver();

// The same for code that runs only where LoadDriver has succeeded.
const DriverFunctions& Driver();

// OK for kSuccess; RESOURCE_EXHAUSTED if memory is out; else INTERNAL: "<what>: CUDA_ERROR_...: <explanation>".
Status CheckDriver(Result result, std::string_view what);

// Makes a context current in the calling thread, for as long as the thread lives or until another one is. Cheap if it
// is current already.
void UseContext(ContextHandle context);

}  // namespace weir::cuda

#define WEIR_RETURN_IF_CUDA_ERROR(call, what)                                             \
  do {                                                                                    \
    if (const ::weir::cuda::Result cuda_result = (call); cuda_result != 0) [[unlikely]] { \
      return ::weir::cuda::CheckDriver(cuda_result, what);                                \
    }                                                                                     \
  } while (false)

#endif  // WEIR_DEVICE_CUDA_DRIVER_H_
