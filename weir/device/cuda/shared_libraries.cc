#include "weir/device/cuda/shared_libraries.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"

namespace weir::cuda {
namespace {

struct Description {
  std::string_view name;
  std::vector<std::string_view> files;  // newest first
  std::string_view wheel_folder;        // below site-packages/nvidia, of wheels for one release of CUDA
  std::string_view advice;
};

const Description& Describe(CudaLibrary library) {
  static const auto* descriptions = new std::array<Description, kNumCudaLibraries>{{
      {"CUDA driver", {"libcuda.so.1"}, "", "install NVIDIA's driver"},
      {"NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"}, "cuda_nvrtc", "pip install nvidia-cuda-nvrtc"},
      {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, "cublas", "pip install nvidia-cublas"},
      {"cuDNN", {"libcudnn.so.9"}, "cudnn", "pip install nvidia-cudnn-cu13"},
      {"cuFFT", {"libcufft.so.12", "libcufft.so.11"}, "cufft", "pip install nvidia-cufft"},
      {"cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11"}, "cusolver", "pip install nvidia-cusolver"},
      {"NCCL", {"libnccl.so.2"}, "nccl", "pip install nvidia-nccl-cu13"},
      {"CUPTI", {"libcupti.so.13", "libcupti.so.12"}, "cuda_cupti", "pip install nvidia-cuda-cupti"},
  }};
  return (*descriptions)[static_cast<size_t>(library)];
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string FolderOfThisCode() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&FolderOfThisCode), &self) == 0 || self.dli_fname == nullptr) return "";
  const std::string file = self.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash);
}

void AddMatches(const std::string& pattern, std::vector<std::string>& folders) {
  glob_t found;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) folders.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
}

// Folders of NVIDIA's wheels below a folder of Python packages: one for all libraries since CUDA 13, one each before.
void AddWheelFolders(const std::string& packages, std::string_view wheel_folder, std::vector<std::string>& folders) {
  AddMatches(Cat(packages, "/nvidia/cu1[0-9]/lib"), folders);
  if (!wheel_folder.empty()) AddMatches(Cat(packages, "/nvidia/", wheel_folder, "/lib"), folders);
}

std::vector<std::string> Folders(const Description& description) {
  std::vector<std::string> folders;
  if (std::string chosen = Environment("WEIR_CUDA_PATH"); !chosen.empty()) {
    for (size_t begin = 0; begin <= chosen.size();) {
      const size_t end = std::min(chosen.find(':', begin), chosen.size());
      if (end > begin) folders.push_back(chosen.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (const std::string self = FolderOfThisCode(); !self.empty()) {
    folders.push_back(self);
    folders.push_back(Cat(self, "/weir"));
    AddWheelFolders(Cat(self, "/.."), description.wheel_folder, folders);  // weir's package beside NVIDIA's
  }
  if (std::string environment = Environment("VIRTUAL_ENV"); !environment.empty()) {
    std::vector<std::string> packages;
    AddMatches(Cat(environment, "/lib/python3*/site-packages"), packages);
    for (const std::string& each : packages) AddWheelFolders(each, description.wheel_folder, folders);
  }
  AddWheelFolders("/usr/local/lib/weir-deps/cuda", description.wheel_folder, folders);  // scripts/setup
  std::string toolkit = Environment("CUDA_HOME");
  if (toolkit.empty()) toolkit = "/usr/local/cuda";
  folders.push_back(Cat(toolkit, "/lib64"));
  folders.push_back(Cat(toolkit, "/targets/x86_64-linux/lib"));
  return folders;
}

// NVRTC opens its library of built-in functions by name, and its wheel does not say where that is. Once it is loaded,
// the name finds it.
void OpenBuiltinsBeside(const std::string& file) {
  std::vector<std::string> found;
  AddMatches(Cat(file.substr(0, file.rfind('/')), "/libnvrtc-builtins.so.*"), found);
  for (const std::string& builtins : found) dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
}

struct Loaded {
  absl::Mutex mu;
  void* handle ABSL_GUARDED_BY(mu) = nullptr;
  std::string file ABSL_GUARDED_BY(mu);
};

Loaded& LoadedOf(CudaLibrary library) {
  static auto* loaded = new std::array<Loaded, kNumCudaLibraries>;  // never destroyed: threads may still compute
  return (*loaded)[static_cast<size_t>(library)];
}

}  // namespace

std::string_view Name(CudaLibrary library) { return Describe(library).name; }

std::vector<std::string> CandidateFiles(CudaLibrary library) {
  const Description& description = Describe(library);
  std::vector<std::string> files;
  for (const std::string& folder : Folders(description)) {
    for (std::string_view file : description.files) files.push_back(Cat(folder, "/", file));
  }
  for (std::string_view file : description.files) files.emplace_back(file);
  return files;
}

StatusOr<void*> OpenCudaLibrary(CudaLibrary library) {
  Loaded& loaded = LoadedOf(library);
  absl::MutexLock lock(&loaded.mu);
  if (loaded.handle != nullptr) return loaded.handle;
  std::string broken;  // what the loader says of a file that is there
  for (const std::string& file : CandidateFiles(library)) {
    const bool is_path = file.find('/') != std::string::npos;
    if (is_path && access(file.c_str(), R_OK) != 0) continue;
    if (is_path && library == CudaLibrary::kNvrtc) OpenBuiltinsBeside(file);
    loaded.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded.handle != nullptr) {
      loaded.file = file;
      return loaded.handle;
    }
    if (is_path && broken.empty()) broken = Cat("; ", dlerror());
  }
  const Description& description = Describe(library);
  return NotFound("No ", description.name, " (", description.files.front(),
                  ") in $WEIR_CUDA_PATH, beside weir, in a Python environment, in the CUDA toolkit or in the system",
                  broken, "; to get it: ", description.advice);
}

std::string CudaLibraryFile(CudaLibrary library) {
  if (!OpenCudaLibrary(library).ok()) return "";
  Loaded& loaded = LoadedOf(library);
  absl::MutexLock lock(&loaded.mu);
  return loaded.file;
}

StatusOr<void*> FindSymbol(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) return NotFound("A CUDA library is too old for weir: it has no ", name);
  return symbol;
}

}  // namespace weir::cuda
