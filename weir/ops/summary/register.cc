#include "weir/ops/summary/register.h"

namespace weir {

void RegisterSummaryKernels(KernelRegistry& registry) {
  RegisterSummaryValueKernels(registry);
  RegisterSummaryWriterKernels(registry);
}

}  // namespace weir
