#include "weir/client/load_library.h"

#include <dlfcn.h>

#include <filesystem>

namespace weir {

Status LoadLibrary(const std::string& path, Environment* environment) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return NotFound("There is no library ", path);
  // With a slash dlopen takes the path as it is instead of searching for a name.
  const std::string exact = path.find('/') == path.npos ? Cat("./", path) : path;
  void* library = dlopen(exact.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return InvalidArgument("Cannot load ", path, ": ", dlerror());
  auto interface = reinterpret_cast<int (*)()>(dlsym(library, "WeirLibraryInterface"));
  auto init = reinterpret_cast<void (*)(Environment*, Status*)>(dlsym(library, "WeirLibraryInit"));
  if (interface == nullptr || init == nullptr) {
    dlclose(library);
    return InvalidArgument(path, " is not a library for weir: it has no WEIR_LIBRARY");
  }
  if (interface() != kLibraryInterface) {
    return FailedPrecondition(path, " was built for interface ", interface(), " of weir; this is interface ",
                              kLibraryInterface);
  }
  Status status;
  init(environment, &status);
  return status.ok() ? status : Annotate(status, Cat(path, ": "));
}

}  // namespace weir
