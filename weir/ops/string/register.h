#ifndef WEIR_OPS_STRING_REGISTER_H_
#define WEIR_OPS_STRING_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterStringKernels(KernelRegistry& registry);

// Its parts.
void RegisterTextKernels(KernelRegistry& registry);
void RegisterJoinKernels(KernelRegistry& registry);
void RegisterStringSplitKernels(KernelRegistry& registry);
void RegisterNumberTextKernels(KernelRegistry& registry);
void RegisterStringHashKernels(KernelRegistry& registry);
void RegisterRegexKernels(KernelRegistry& registry);
void RegisterUnicodeKernels(KernelRegistry& registry);
void RegisterNGramsKernels(KernelRegistry& registry);
void RegisterEditDistanceKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_STRING_REGISTER_H_
