// The kernels of summaries.
#ifndef WEIR_OPS_SUMMARY_REGISTER_H_
#define WEIR_OPS_SUMMARY_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterSummaryKernels(KernelRegistry& registry);

// Its parts.
void RegisterSummaryValueKernels(KernelRegistry& registry);
void RegisterSummaryWriterKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_SUMMARY_REGISTER_H_
