#include "weir/ops/nn/register.h"

namespace weir {

void RegisterNnKernels(KernelRegistry& registry) {
  RegisterActivationKernels(registry);
  RegisterAttentionKernels(registry);
  RegisterBiasKernels(registry);
  RegisterSoftmaxKernels(registry);
  RegisterCrossEntropyKernels(registry);
  RegisterInTopKKernels(registry);
  RegisterL2LossKernels(registry);
  RegisterConv2DKernels(registry);
  RegisterPoolKernels(registry);
  RegisterBatchNormKernels(registry);
  RegisterLrnKernels(registry);
  RegisterFusedKernels(registry);
}

}  // namespace weir
