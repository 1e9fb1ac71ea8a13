// ProgramCache: device code, compiled by NVRTC when it is first used.
//
// Device code is text (*.cu and *.cuh, embedded in weir) with templates over element types and operations; a kernel
// asks for one instantiation of one template, such as `ReduceRows<float, Sum>` of "weir/ops/math/cuda/reduction.cu",
// and only that is compiled, for the card at hand. What was compiled is kept in memory and in a folder on disk
// ($WEIR_CUDA_CACHE, else $XDG_CACHE_HOME/weir/cuda or ~/.cache/weir/cuda; empty: no folder), so the next process finds
// it there. A sum and a product are two roundings, as on the host: code that wants a fused one says so.
#ifndef WEIR_DEVICE_CUDA_PROGRAM_CACHE_H_
#define WEIR_DEVICE_CUDA_PROGRAM_CACHE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "weir/base/status.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/driver.h"

namespace weir::cuda {

// The text of an embedded file of device code by its path from the source tree's root; empty if there is none.
std::string_view DeviceCode(std::string_view path);

// What NVRTC makes of a source: a cubin for the architecture, or PTX if NVRTC does not know it. `name` is the
// expression that names the kernel; `symbol` its name in `code`.
struct CompiledProgram {
  std::string code;
  std::string symbol;
};
// `path` is only for messages. Thread-safe; needs no GPU. INTERNAL with the compiler's log if the text has errors.
StatusOr<CompiledProgram> CompileDeviceCode(std::string_view path, std::string_view text, std::string_view name,
                                            int compute_capability);

// The programs of one GPU. Thread-safe.
class ProgramCache {
 public:
  ProgramCache(ContextHandle context, int compute_capability)
      : context_(context), compute_capability_(compute_capability) {}

  // The kernel `name` of an embedded source.
  StatusOr<FunctionHandle> Get(std::string_view path, std::string_view name);
  // The kernel `name` of a generated source. The text is the key; `path` is for messages.
  StatusOr<FunctionHandle> GetGenerated(std::string_view path, std::string_view text, std::string_view name);

 private:
  struct Entry {
    absl::Mutex mu;
    FunctionHandle function ABSL_GUARDED_BY(mu) = nullptr;
    Status status ABSL_GUARDED_BY(mu);
    bool is_ready ABSL_GUARDED_BY(mu) = false;
  };
  StatusOr<FunctionHandle> Find(std::string key, std::string_view path, std::string_view text, std::string_view name);
  StatusOr<FunctionHandle> Load(std::string_view path, std::string_view text, std::string_view name);

  const ContextHandle context_;
  const int compute_capability_;
  absl::Mutex mu_;
  StringMap<std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_PROGRAM_CACHE_H_
