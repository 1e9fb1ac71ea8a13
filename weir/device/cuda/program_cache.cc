#include "weir/device/cuda/program_cache.h"

#include "weir/base/fingerprint.h"
#include "weir/device/cuda/device_code.h"
#include "weir/device/cuda/disk_cache.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

// Of all embedded texts: a program may include any of them.
uint64_t EmbeddedFingerprint() {
  static const uint64_t fingerprint = [] {
    std::string all;
    for (const DeviceCodeFile& file : DeviceCodeFiles()) all += Cat(file.path, "\n", file.text);
    return Fingerprint64(all);
  }();
  return fingerprint;
}

constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;  // of cuModuleLoadDataEx

}  // namespace

StatusOr<FunctionHandle> ProgramCache::Get(std::string_view path, std::string_view name) {
  const std::string_view text = DeviceCode(path);
  if (text.empty()) return Internal("weir has no device code ", path);
  return Find(Cat(path, "\n", name), path, text, name);
}

StatusOr<FunctionHandle> ProgramCache::GetGenerated(std::string_view path, std::string_view text,
                                                    std::string_view name) {
  return Find(Cat(text, "\n", name), path, text, name);
}

StatusOr<FunctionHandle> ProgramCache::Find(std::string key, std::string_view path, std::string_view text,
                                            std::string_view name) {
  Entry* entry;
  {
    absl::MutexLock lock(&mu_);
    std::unique_ptr<Entry>& made = entries_[std::move(key)];
    if (made == nullptr) made = std::make_unique<Entry>();
    entry = made.get();
  }
  // Others who want the same program wait for it here; compilers of different ones do not meet.
  absl::MutexLock lock(&entry->mu);
  if (!entry->is_ready) {
    StatusOr<FunctionHandle> function = Load(path, text, name);
    entry->status = function.status();
    if (function.ok()) entry->function = *function;
    entry->is_ready = true;
  }
  if (!entry->status.ok()) return entry->status;
  return entry->function;
}

StatusOr<FunctionHandle> ProgramCache::Load(std::string_view path, std::string_view text, std::string_view name) {
  const std::string folder = DiskCacheFolder();
  const std::string key = Cat(EmbeddedFingerprint(), "\n", CudaLibraryFile(CudaLibrary::kNvrtc), "\n",
                              compute_capability_, "\n", path, "\n", name, "\n", text);
  std::optional<CompiledProgram> program = ReadDiskCache(folder, key);
  if (!program.has_value()) {
    WEIR_ASSIGN_OR_RETURN(program, CompileDeviceCode(path, text, name, compute_capability_));
    WriteDiskCache(folder, key, *program);
  }
  UseContext(context_);
  ModuleHandle module = nullptr;
  char log[4096] = {};
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  WEIR_RETURN_IF_CUDA_ERROR(Driver().ModuleLoadDataEx(&module, program->code.c_str(), 2, options, values),
                            Cat("loading ", name, " of ", path, ": ", log));
  FunctionHandle function = nullptr;
  WEIR_RETURN_IF_CUDA_ERROR(Driver().ModuleGetFunction(&function, module, program->symbol.c_str()),
                            Cat("finding ", name, " of ", path));
  return function;
}

}  // namespace weir::cuda
