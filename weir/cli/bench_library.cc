#include "weir/cli/bench_library.h"

#include <dlfcn.h>

#include <filesystem>

namespace weir::bench {
namespace {

constexpr char kFileName[] = "weir_bench_models.so";

}  // namespace

StatusOr<const Library*> LoadBenchLibrary(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path file = path.empty() ? program.parent_path() / kFileName : fs::absolute(path, error);
  if (!fs::exists(file, error)) {
    return NotFound(
        "the models of the benchmark are in a library of weir's source tree (benchmarks/models), which is not ",
        file.string(), "; name it with --models");
  }
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return InvalidArgument("cannot load ", file.string(), ": ", dlerror());
  auto get = reinterpret_cast<BenchLibraryFunction>(dlsym(library, kBenchLibrarySymbol));
  if (get == nullptr) return InvalidArgument(file.string(), " has no models of the benchmark");
  return get();
}

}  // namespace weir::bench
