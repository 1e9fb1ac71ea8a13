#include "weir/ops/table/register.h"

namespace weir {

void RegisterTableKernels(KernelRegistry& registry) {
  RegisterTableHandleKernels(registry);
  RegisterTableAccessKernels(registry);
  RegisterTableInitKernels(registry);
}

}  // namespace weir
