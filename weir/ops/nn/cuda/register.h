// Kernels of the nn family for GPUs, by file.
#ifndef WEIR_OPS_NN_CUDA_REGISTER_H_
#define WEIR_OPS_NN_CUDA_REGISTER_H_

#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterAttentionKernels(GpuRegistry& registry);
void RegisterBatchNormKernels(GpuRegistry& registry);
void RegisterBiasKernels(GpuRegistry& registry);
void RegisterConvolutionKernels(GpuRegistry& registry);
void RegisterCrossEntropyKernels(GpuRegistry& registry);
void RegisterCudnnRnnKernels(GpuRegistry& registry);
void RegisterDataFormatKernels(GpuRegistry& registry);
void RegisterDilationKernels(GpuRegistry& registry);
void RegisterFusedContractionKernels(GpuRegistry& registry);
void RegisterLrnKernels(GpuRegistry& registry);
void RegisterPoolKernels(GpuRegistry& registry);
void RegisterRecurrentKernels(GpuRegistry& registry);
void RegisterSoftmaxKernels(GpuRegistry& registry);

}  // namespace weir::cuda

#endif  // WEIR_OPS_NN_CUDA_REGISTER_H_
