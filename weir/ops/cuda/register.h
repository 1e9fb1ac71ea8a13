// All kernels for GPUs.
#ifndef WEIR_OPS_CUDA_REGISTER_H_
#define WEIR_OPS_CUDA_REGISTER_H_

#include "weir/ops/cuda/gpu_registry.h"

namespace weir::cuda {

// After the host's kernels: those run what is in the host's memory.
void RegisterGpuKernels(const OpRegistry& ops, KernelRegistry& kernels);

// By family.
void RegisterCollectiveKernels(GpuRegistry& registry);
void RegisterCombineKernels(GpuRegistry& registry);
void RegisterCompactKernels(GpuRegistry& registry);
void RegisterCountingKernels(GpuRegistry& registry);
void RegisterElementwiseKernels(GpuRegistry& registry);
void RegisterFftKernels(GpuRegistry& registry);
void RegisterFusedKernels(GpuRegistry& registry);
void RegisterGatherScatterKernels(GpuRegistry& registry);
void RegisterLinalgKernels(GpuRegistry& registry);
void RegisterMatMulKernels(GpuRegistry& registry);
void RegisterNnKernels(GpuRegistry& registry);
void RegisterOptimizerKernels(GpuRegistry& registry);
void RegisterPlaceKernels(GpuRegistry& registry);
void RegisterPortableArrayKernels(GpuRegistry& registry);
void RegisterRandomKernels(GpuRegistry& registry);
void RegisterReductionKernels(GpuRegistry& registry);
void RegisterScanKernels(GpuRegistry& registry);
void RegisterSegmentKernels(GpuRegistry& registry);
void RegisterSparseMatMulKernels(GpuRegistry& registry);
void RegisterSparseSegmentKernels(GpuRegistry& registry);
void RegisterTopKKernels(GpuRegistry& registry);
void RegisterVariableKernels(GpuRegistry& registry);
void RegisterVariableSliceKernels(GpuRegistry& registry);

}  // namespace weir::cuda

#endif  // WEIR_OPS_CUDA_REGISTER_H_
