#ifndef WEIR_OPS_SPARSE_REGISTER_H_
#define WEIR_OPS_SPARSE_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterSparseKernels(KernelRegistry& registry);

// Its parts.
void RegisterSparseDenseKernels(KernelRegistry& registry);
void RegisterSparseRearrangeKernels(KernelRegistry& registry);
void RegisterSparseArithmeticKernels(KernelRegistry& registry);
void RegisterSparseFillKernels(KernelRegistry& registry);
void RegisterSparseSegmentKernels(KernelRegistry& registry);
void RegisterSparseSerializeKernels(KernelRegistry& registry);
void RegisterSparseCountKernels(KernelRegistry& registry);
void RegisterRaggedKernels(KernelRegistry& registry);
void RegisterRaggedVariantKernels(KernelRegistry& registry);
void RegisterSetKernels(KernelRegistry& registry);
void RegisterSparseMapKernels(KernelRegistry& registry);
void RegisterSparseBincountKernels(KernelRegistry& registry);
void RegisterSparseCrossKernels(KernelRegistry& registry);
void RegisterRaggedCrossKernels(KernelRegistry& registry);
void RegisterCsrKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_REGISTER_H_
