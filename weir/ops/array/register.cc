#include "weir/ops/array/register.h"

namespace weir {

void RegisterArrayKernels(KernelRegistry& registry) {
  RegisterIdentityKernels(registry);
  RegisterShapeKernels(registry);
  RegisterReshapeKernels(registry);
  RegisterFillKernels(registry);
  RegisterRangeKernels(registry);
  RegisterConcatKernels(registry);
  RegisterSplitKernels(registry);
  RegisterSliceKernels(registry);
  RegisterStridedSliceKernels(registry);
  RegisterTransposeKernels(registry);
  RegisterReverseKernels(registry);
  RegisterBroadcastKernels(registry);
  RegisterPadKernels(registry);
  RegisterGatherKernels(registry);
  RegisterScatterKernels(registry);
  RegisterWhereKernels(registry);
  RegisterOneHotKernels(registry);
  RegisterUniqueKernels(registry);
  RegisterPartitionKernels(registry);
  RegisterCheckNumericsKernels(registry);
  RegisterDiagKernels(registry);
  RegisterMatrixDiagKernels(registry);
  RegisterSpaceBatchKernels(registry);
  RegisterInplaceKernels(registry);
  RegisterSearchKernels(registry);
}

}  // namespace weir
