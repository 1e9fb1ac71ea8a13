#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {

void RegisterNnKernels(GpuRegistry& registry) {
  RegisterAttentionKernels(registry);
  RegisterBatchNormKernels(registry);
  RegisterBiasKernels(registry);
  RegisterConvolutionKernels(registry);
  RegisterCrossEntropyKernels(registry);
  RegisterCudnnRnnKernels(registry);
  RegisterDataFormatKernels(registry);
  RegisterDilationKernels(registry);
  RegisterFusedContractionKernels(registry);
  RegisterLrnKernels(registry);
  RegisterPoolKernels(registry);
  RegisterRecurrentKernels(registry);
  RegisterSoftmaxKernels(registry);
}

}  // namespace weir::cuda
