#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "weir/base/strings.h"
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/library_internal.h"

namespace weir::onednn {
namespace {

constexpr char kSoname[] = "libdnnl.so.3";

// The user's choice; else beside the program or library that holds this code, as an installation puts it; else where
// the build found it; else wherever the system has one.
std::vector<std::string> Candidates() {
  if (const char* chosen = std::getenv("WEIR_ONEDNN_LIBRARY")) return {chosen};
  std::vector<std::string> paths;
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&Candidates), &self) != 0 && self.dli_fname != nullptr) {
    const std::string file = self.dli_fname;
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) {
      const std::string folder = file.substr(0, slash);
      paths.push_back(Cat(folder, "/weir/", kSoname));
      paths.push_back(Cat(folder, "/../" WEIR_LIBRARY_FOLDER "/weir/", kSoname));
    }
  }
  paths.push_back(WEIR_ONEDNN_BUILD_PATH);
  paths.push_back(kSoname);
  return paths;
}

// Empty if all is well.
std::string Bind(void* handle, Library& library) {
#define WEIR_ONEDNN_BIND(name)                                                           \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "dnnl_" #name)); \
  if (library.name == nullptr) return "it has no dnnl_" #name;
  WEIR_ONEDNN_FUNCTIONS(WEIR_ONEDNN_BIND)
#undef WEIR_ONEDNN_BIND
  library.max_threads = reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_max_threads"));
  library.set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  if (library.max_threads == nullptr || library.set_num_threads == nullptr) return "it does not run on OpenMP";
  if (library.version()->major != DNNL_VERSION_MAJOR) return Cat("it is version ", library.version()->major);
  if (library.engine_create(&library.engine, dnnl_cpu, 0) != dnnl_success) return "it makes no engine";
  return "";
}

struct Loaded {
  Library library;
  std::string error;

  Loaded() {
    for (const std::string& path : Candidates()) {
      void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) {
        if (error.empty()) error = dlerror();
        continue;
      }
      error = Bind(handle, library);
      if (error.empty()) return;
      error = Cat(path, ": ", error);
      dlclose(handle);
    }
  }
};

// Never destroyed: threads may still compute while the process ends.
const Loaded& GetLoaded() {
  static const Loaded* loaded = new Loaded;
  return *loaded;
}

}  // namespace

const Library* GetLibrary() {
  const Loaded& loaded = GetLoaded();
  return loaded.error.empty() ? &loaded.library : nullptr;
}
const std::string& LoadError() { return GetLoaded().error; }

}  // namespace weir::onednn

namespace weir {

std::string ContractionLibrary() {
  const onednn::Library* library = onednn::GetLibrary();
  if (library == nullptr) return Cat("no oneDNN: ", onednn::LoadError());
  const dnnl_version_t* version = library->version();
  return Cat("oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

}  // namespace weir
