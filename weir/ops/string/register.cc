#include "weir/ops/string/register.h"

namespace weir {

void RegisterStringKernels(KernelRegistry& registry) {
  RegisterTextKernels(registry);
  RegisterJoinKernels(registry);
  RegisterStringSplitKernels(registry);
  RegisterNumberTextKernels(registry);
  RegisterStringHashKernels(registry);
  RegisterRegexKernels(registry);
  RegisterUnicodeKernels(registry);
  RegisterNGramsKernels(registry);
  RegisterEditDistanceKernels(registry);
}

}  // namespace weir
