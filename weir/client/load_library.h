// Loads users' libraries at run time: operations, kernels, devices.
//
// Such a library is a shared object that contains, once and at file scope,
//
//   WEIR_LIBRARY(environment) { return RegisterMine(*environment); }
//
// and is built as a CMake MODULE that does not link weir: it uses the copy in the program that loads it, which is
// libweir.so, or the program itself if it was linked with ENABLE_EXPORTS (as `weir` is). The interface is C++, so
// library and program must come from the same release of weir and the same compiler.
#ifndef WEIR_CLIENT_LOAD_LIBRARY_H_
#define WEIR_CLIENT_LOAD_LIBRARY_H_

#include <string>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/runtime/environment.h"

namespace WEIR_PUBLIC weir {

// Incremented whenever libraries built against older headers no longer work.
inline constexpr int kLibraryInterface = 1;

// Loads the library at `path` and lets it register its contents. Existing sessions do not see them. The library stays
// loaded until the process ends. NOT_FOUND if there is no such file, INVALID_ARGUMENT if it is not a library for weir,
// FAILED_PRECONDITION if it was built for another release; otherwise the status that the library returns.
Status LoadLibrary(const std::string& path, Environment* environment);

}  // namespace weir

#define WEIR_LIBRARY(environment)                                                                 \
  static ::weir::Status WeirLibraryBody(::weir::Environment* environment);                        \
  extern "C" WEIR_PUBLIC int WeirLibraryInterface() { return ::weir::kLibraryInterface; }         \
  extern "C" WEIR_PUBLIC void WeirLibraryInit(::weir::Environment* env, ::weir::Status* status) { \
    *status = WeirLibraryBody(env);                                                               \
  }                                                                                               \
  static ::weir::Status WeirLibraryBody([[maybe_unused]] ::weir::Environment* environment)

#endif  // WEIR_CLIENT_LOAD_LIBRARY_H_
