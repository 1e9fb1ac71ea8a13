#include "weir/ops/io/register.h"

namespace weir {

void RegisterIoKernels(KernelRegistry& registry) {
  RegisterRestoreKernels(registry);
  RegisterShardNameKernels(registry);
}

}  // namespace weir
