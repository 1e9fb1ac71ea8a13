// All kernels for GPUs.
#ifndef WEIR_OPS_CUDA_REGISTER_H_
#define WEIR_OPS_CUDA_REGISTER_H_

#include "weir/ops/cuda/gpu_registry.h"

namespace weir::cuda {

// After the host's kernels: those run what is in the host's memory.
void RegisterGpuKernels(const OpRegistry& ops, KernelRegistry& kernels);

// By family.
void RegisterColorKernels(GpuRegistry& registry);
void RegisterCollectiveKernels(GpuRegistry& registry);
void RegisterCombineKernels(GpuRegistry& registry);
void RegisterCompactKernels(GpuRegistry& registry);
void RegisterContainerKernels(GpuRegistry& registry);
void RegisterCountingKernels(GpuRegistry& registry);
void RegisterCropKernels(GpuRegistry& registry);
void RegisterDrawKernels(GpuRegistry& registry);
void RegisterElementwiseKernels(GpuRegistry& registry);
void RegisterFakeQuantKernels(GpuRegistry& registry);
void RegisterFftKernels(GpuRegistry& registry);
void RegisterFusedKernels(GpuRegistry& registry);
void RegisterGatherScatterKernels(GpuRegistry& registry);
void RegisterLinalgKernels(GpuRegistry& registry);
void RegisterMatMulKernels(GpuRegistry& registry);
void RegisterNnKernels(GpuRegistry& registry);
void RegisterManyUpdatesKernel(GpuRegistry& registry);
void RegisterNonMaxSuppressionKernels(GpuRegistry& registry);
void RegisterOptimizerKernels(GpuRegistry& registry);
void RegisterPatchesKernels(GpuRegistry& registry);
void RegisterPlaceKernels(GpuRegistry& registry);
void RegisterPortableArrayKernels(GpuRegistry& registry);
void RegisterProjectiveTransformKernels(GpuRegistry& registry);
void RegisterQuantizeAndDequantizeKernels(GpuRegistry& registry);
void RegisterRandomKernels(GpuRegistry& registry);
void RegisterReductionKernels(GpuRegistry& registry);
void RegisterRefVariableKernels(GpuRegistry& registry);
void RegisterResizeKernels(GpuRegistry& registry);
void RegisterScanKernels(GpuRegistry& registry);
void RegisterSegmentKernels(GpuRegistry& registry);
void RegisterSparseFillKernels(GpuRegistry& registry);
void RegisterSparseMatMulKernels(GpuRegistry& registry);
void RegisterSparseRearrangeKernels(GpuRegistry& registry);
void RegisterSparseSegmentKernels(GpuRegistry& registry);
void RegisterTopKKernels(GpuRegistry& registry);
void RegisterVariableKernels(GpuRegistry& registry);
void RegisterVariableSliceKernels(GpuRegistry& registry);

}  // namespace weir::cuda

#endif  // WEIR_OPS_CUDA_REGISTER_H_
