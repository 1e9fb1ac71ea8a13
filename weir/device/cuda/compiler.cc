// CompileDeviceCode: NVRTC.
#include <algorithm>
#include <cctype>
#include <memory>
#include <vector>

#include "weir/device/cuda/abi/nvrtc_abi.h"
#include "weir/device/cuda/device_code.h"
#include "weir/device/cuda/program_cache.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

struct Nvrtc {
  NvrtcFunctions functions;
  std::vector<int> architectures;  // that it can make machine code for
  Status status;

  Nvrtc() : status(Load()) {}

  Status Load() {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kNvrtc));
    WEIR_NVRTC_FUNCTIONS(WEIR_CUDA_LOAD)
    int count = 0;
    if (functions.GetNumSupportedArchs(&count) != 0) return Internal("NVRTC does not say what it can compile for");
    architectures.resize(count);
    if (functions.GetSupportedArchs(architectures.data()) != 0) {
      return Internal("NVRTC does not say what it can compile for");
    }
    return OkStatus();
  }

  // Machine code for the card if NVRTC knows it, else the newest PTX that the driver can turn into some.
  StatusOr<std::pair<std::string, bool>> Target(int compute_capability) const {
    int best = 0;
    for (int each : architectures) {
      if (each <= compute_capability) best = std::max(best, each);
    }
    if (best == 0) {
      return Unimplemented("NVRTC no longer compiles for compute capability ", compute_capability / 10, ".",
                           compute_capability % 10);
    }
    const bool exact = best == compute_capability;
    return std::pair(Cat("--gpu-architecture=", exact ? "sm_" : "compute_", best), exact);
  }
};

const Nvrtc& TheNvrtc() {
  static const auto* nvrtc = new Nvrtc;
  return *nvrtc;
}

// Quoted includes are those of embedded files, whose texts NVRTC gets beside the program's own.
struct Headers {
  std::vector<const char*> names, texts;
  Headers() {
    for (const DeviceCodeFile& file : DeviceCodeFiles()) {
      names.push_back(file.path);
      texts.push_back(file.text);
    }
    // Texts of the host include these; device_code/host_library.cuh has what they need.
    for (const char* name : {"algorithm", "cmath", "complex", "limits", "numbers"}) {
      names.push_back(name);
      texts.push_back("");
    }
  }
};

}  // namespace

std::string_view DeviceCode(std::string_view path) {
  const std::span<const DeviceCodeFile> files = DeviceCodeFiles();
  auto found = std::lower_bound(files.begin(), files.end(), path,
                                [](const DeviceCodeFile& file, std::string_view wanted) { return file.path < wanted; });
  return found != files.end() && found->path == path ? found->text : std::string_view();
}

StatusOr<CompiledProgram> CompileDeviceCode(std::string_view path, std::string_view text, std::string_view name,
                                            int compute_capability) {
  const Nvrtc& nvrtc = TheNvrtc();
  WEIR_RETURN_IF_ERROR(nvrtc.status);
  const NvrtcFunctions& functions = nvrtc.functions;
  static const auto* headers = new Headers;
  WEIR_ASSIGN_OR_RETURN(auto target, nvrtc.Target(compute_capability));
  const auto& [architecture, is_exact] = target;
  const std::string source(text), file(path), expression(name);
  NvrtcProgram program = nullptr;
  if (functions.CreateProgram(&program, source.c_str(), file.c_str(), static_cast<int>(headers->names.size()),
                              headers->texts.data(), headers->names.data()) != 0) {
    return Internal("NVRTC makes no program of ", path);
  }
  auto destroy = [&](NvrtcProgram* each) { functions.DestroyProgram(each); };
  std::unique_ptr<NvrtcProgram, decltype(destroy)> owner(&program, destroy);
  const char* options[] = {architecture.c_str(), "--std=c++17", "--fmad=false", "--device-as-default-execution-space"};
  functions.AddNameExpression(program, expression.c_str());
  if (functions.CompileProgram(program, 4, options) != 0) {
    size_t size = 0;
    functions.GetProgramLogSize(program, &size);
    std::string log(size, '\0');
    functions.GetProgramLog(program, log.data());
    return Internal("NVRTC does not compile ", name, " of ", path, ":\n", log.c_str());
  }
  CompiledProgram out;
  const char* symbol = nullptr;
  if (functions.GetLoweredName(program, expression.c_str(), &symbol) != 0) {
    return Internal("NVRTC does not know ", name, " of ", path);
  }
  out.symbol = symbol;
  size_t size = 0;
  const bool has_size = (is_exact ? functions.GetCUBINSize : functions.GetPTXSize)(program, &size) == 0;
  out.code.resize(size);
  if (!has_size || (is_exact ? functions.GetCUBIN : functions.GetPTX)(program, out.code.data()) != 0) {
    return Internal("NVRTC gives no code for ", name, " of ", path);
  }
  return out;
}

}  // namespace weir::cuda
