#include "emulated_gpu.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>

namespace cuda_emulator {
namespace {

// The part of NVRTC's interface that is used here.
struct Nvrtc {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*log_size)(void*, size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*ptx_size)(void*, size_t*) = nullptr;
  int (*ptx)(void*, char*) = nullptr;
  int (*destroy)(void**) = nullptr;
};

// Folders in which NVRTC may be: $WEIR_CUDA_PATH, NVIDIA's packages of a Python environment, the toolkit.
std::vector<std::string> LibraryFolders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("WEIR_CUDA_PATH")) folders.push_back(path);
  for (const char* variable : {"VIRTUAL_ENV", "WEIR_PYTHON_ENV"}) {
    const char* environment = std::getenv(variable);
    if (environment == nullptr) continue;
    std::error_code error;
    for (const auto& python : std::filesystem::directory_iterator(std::string(environment) + "/lib", error)) {
      for (const char* package : {"cu13", "cuda_nvrtc"}) {
        folders.push_back(python.path().string() + "/site-packages/nvidia/" + package + "/lib");
      }
    }
  }
  folders.push_back("/usr/local/lib/weir-deps/cuda/nvidia/cu13/lib");  // scripts/setup
  folders.push_back("/usr/local/cuda/lib64");
  return folders;
}

const Nvrtc* LoadNvrtc() {
  void* library = nullptr;
  for (const std::string& folder : LibraryFolders()) {
    // NVRTC opens it by name.
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = file.path().filename();
      if (library == nullptr && name.starts_with("libnvrtc-builtins.so.")) dlopen(file.path().c_str(), RTLD_NOW);
    }
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
      if (library == nullptr) library = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) return nullptr;
  auto* nvrtc = new Nvrtc();
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
  };
  find(nvrtc->create, "nvrtcCreateProgram");
  find(nvrtc->compile, "nvrtcCompileProgram");
  find(nvrtc->log_size, "nvrtcGetProgramLogSize");
  find(nvrtc->log, "nvrtcGetProgramLog");
  find(nvrtc->ptx_size, "nvrtcGetPTXSize");
  find(nvrtc->ptx, "nvrtcGetPTX");
  find(nvrtc->destroy, "nvrtcDestroyProgram");
  return nvrtc;
}

}  // namespace

std::string CompileToPtx(const std::string& source, const std::string& architecture) {
  static const Nvrtc* const nvrtc = LoadNvrtc();
  static auto* const compiled = new std::map<std::pair<std::string, std::string>, std::string>();
  std::string& ptx = (*compiled)[{source, architecture}];
  if (!ptx.empty()) return ptx;
  if (nvrtc == nullptr) {
    ADD_FAILURE() << "NVRTC was not found; scripts/setup installs it";
    return "";
  }
  void* program = nullptr;
  nvrtc->create(&program, source.c_str(), "test.cu", 0, nullptr, nullptr);
  const std::string option = "--gpu-architecture=" + architecture;
  const char* options[] = {option.c_str(), "--device-int128"};
  const int error = nvrtc->compile(program, 2, options);
  size_t size = 0;
  if (error != 0) {
    nvrtc->log_size(program, &size);
    std::string log(size, '\0');
    nvrtc->log(program, log.data());
    ADD_FAILURE() << log;
  } else {
    nvrtc->ptx_size(program, &size);
    ptx.resize(size);
    nvrtc->ptx(program, ptx.data());
  }
  nvrtc->destroy(&program);
  return ptx;
}

LoadedModule::LoadedModule(const std::string& source, const std::string& architecture) {
  const std::string ptx = CompileToPtx(source, architecture);
  if (ptx.empty()) return;
  EXPECT_CU(cuModuleLoadData(&module_, ptx.c_str()));
}

LoadedModule::~LoadedModule() {
  if (module_ != nullptr) cuModuleUnload(module_);
}

CUfunction LoadedModule::Function(const char* name) {
  CUfunction function = nullptr;
  EXPECT_CU(cuModuleGetFunction(&function, module_, name)) << name;
  return function;
}

void EmulatedGpuTest::SetUp() {
  ASSERT_CU(cuInit(0));
  ASSERT_CU(cuDevicePrimaryCtxRetain(&context_, 0));
  ASSERT_CU(cuCtxSetCurrent(context_));
}

void EmulatedGpuTest::TearDown() {
  if (context_ == nullptr) return;
  EXPECT_CU(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_CU(cuCtxSetCurrent(nullptr));
}

}  // namespace cuda_emulator
