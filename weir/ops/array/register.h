// CPU kernels of the array family.
#ifndef WEIR_OPS_ARRAY_REGISTER_H_
#define WEIR_OPS_ARRAY_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterArrayKernels(KernelRegistry& registry);

// One function a file.
void RegisterIdentityKernels(KernelRegistry& registry);
void RegisterShapeKernels(KernelRegistry& registry);
void RegisterReshapeKernels(KernelRegistry& registry);
void RegisterFillKernels(KernelRegistry& registry);
void RegisterRangeKernels(KernelRegistry& registry);
void RegisterConcatKernels(KernelRegistry& registry);
void RegisterSplitKernels(KernelRegistry& registry);
void RegisterSliceKernels(KernelRegistry& registry);
void RegisterStridedSliceKernels(KernelRegistry& registry);
void RegisterTransposeKernels(KernelRegistry& registry);
void RegisterReverseKernels(KernelRegistry& registry);
void RegisterBroadcastKernels(KernelRegistry& registry);
void RegisterPadKernels(KernelRegistry& registry);
void RegisterGatherKernels(KernelRegistry& registry);
void RegisterScatterKernels(KernelRegistry& registry);
void RegisterWhereKernels(KernelRegistry& registry);
void RegisterOneHotKernels(KernelRegistry& registry);
void RegisterUniqueKernels(KernelRegistry& registry);
void RegisterPartitionKernels(KernelRegistry& registry);
void RegisterCheckNumericsKernels(KernelRegistry& registry);
void RegisterDiagKernels(KernelRegistry& registry);
void RegisterMatrixDiagKernels(KernelRegistry& registry);
void RegisterSpaceBatchKernels(KernelRegistry& registry);
void RegisterInplaceKernels(KernelRegistry& registry);
void RegisterSearchKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_REGISTER_H_
