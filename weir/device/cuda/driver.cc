#include "weir/device/cuda/driver.h"

#include "weir/base/strings.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

struct LoadedDriver {
  DriverFunctions functions;
  Status status;

  LoadedDriver() : status(Load()) {}

  Status Load() {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kDriver));
    WEIR_CUDA_DRIVER_FUNCTIONS(WEIR_CUDA_LOAD)
    if (Result result = functions.Init(0); result != kSuccess) {
      return Unavailable("The CUDA driver does not start: ", Describe(functions, result));
    }
    return OkStatus();
  }

  static std::string Describe(const DriverFunctions& functions, Result result) {
    const char *name = nullptr, *text = nullptr;
    if (functions.GetErrorName(result, &name) != kSuccess || name == nullptr) name = "unknown error";
    if (functions.GetErrorString(result, &text) != kSuccess || text == nullptr) text = "";
    return Cat(name, " (", result, "): ", text);
  }
};

const LoadedDriver& TheDriver() {
  static const auto* driver = new LoadedDriver;  // never destroyed: threads may still compute
  return *driver;
}

}  // namespace

StatusOr<const DriverFunctions*> LoadDriver() {
  if (!TheDriver().status.ok()) return TheDriver().status;
  return &TheDriver().functions;
}

const DriverFunctions& Driver() { return TheDriver().functions; }

Status CheckDriver(Result result, std::string_view what) {
  if (result == kSuccess) return OkStatus();
  std::string text = Cat(what, ": ", LoadedDriver::Describe(Driver(), result));
  return result == kErrorOutOfMemory ? ResourceExhausted(text) : Internal(text);
}

void UseContext(ContextHandle context) {
  // Libraries may change the current context behind our back, so the driver is asked, not a variable of our own.
  ContextHandle current = nullptr;
  if (Driver().CtxGetCurrent(&current) == kSuccess && current == context) return;
  Driver().CtxSetCurrent(context);
}

}  // namespace weir::cuda
