#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterGpuKernels(const OpRegistry& ops, KernelRegistry& kernels) {
  GpuRegistry registry(ops, kernels);
  registry.AddHostKernels();
  RegisterColorKernels(registry);
  RegisterCollectiveKernels(registry);
  RegisterCombineKernels(registry);
  RegisterCompactKernels(registry);
  RegisterContainerKernels(registry);
  RegisterCountingKernels(registry);
  RegisterCropKernels(registry);
  RegisterDrawKernels(registry);
  RegisterElementwiseKernels(registry);
  RegisterFakeQuantKernels(registry);
  RegisterFftKernels(registry);
  RegisterFusedKernels(registry);
  RegisterGatherScatterKernels(registry);
  RegisterLinalgKernels(registry);
  RegisterMatMulKernels(registry);
  RegisterNnKernels(registry);
  RegisterNonMaxSuppressionKernels(registry);
  RegisterOptimizerKernels(registry);
  RegisterPatchesKernels(registry);
  RegisterPlaceKernels(registry);
  RegisterPortableArrayKernels(registry);
  RegisterProjectiveTransformKernels(registry);
  RegisterQuantizeAndDequantizeKernels(registry);
  RegisterRandomKernels(registry);
  RegisterReductionKernels(registry);
  RegisterRefVariableKernels(registry);
  RegisterResizeKernels(registry);
  RegisterScanKernels(registry);
  RegisterSegmentKernels(registry);
  RegisterSparseFillKernels(registry);
  RegisterSparseMatMulKernels(registry);
  RegisterSparseRearrangeKernels(registry);
  RegisterSparseSegmentKernels(registry);
  RegisterTopKKernels(registry);
  RegisterVariableKernels(registry);
  RegisterVariableSliceKernels(registry);
}

}  // namespace weir::cuda
