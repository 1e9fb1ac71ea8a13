#include "weir/ops/data/register.h"

namespace weir {

void RegisterDataKernels(KernelRegistry& registry) { RegisterOptionalKernels(registry); }

}  // namespace weir
