// All linked-in kernels; each family has one line in builtin_kernels.cc.
#ifndef WEIR_CLIENT_BUILTIN_KERNELS_H_
#define WEIR_CLIENT_BUILTIN_KERNELS_H_

#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

class KernelRegistry;

void RegisterBuiltinKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_CLIENT_BUILTIN_KERNELS_H_
