#include "weir/ops/collective/register.h"

namespace weir {

void RegisterCollectiveKernels(KernelRegistry& registry) {
  RegisterKeyedCollectiveKernels(registry);
  RegisterCommunicatorKernels(registry);
  RegisterProcessCollectiveKernels(registry);
}

}  // namespace weir
