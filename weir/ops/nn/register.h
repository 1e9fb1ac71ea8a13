// CPU kernels of the nn family: activations, biases, softmax and losses, normalisation, pooling, convolution.
#ifndef WEIR_OPS_NN_REGISTER_H_
#define WEIR_OPS_NN_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterNnKernels(KernelRegistry& registry);

void RegisterActivationKernels(KernelRegistry& registry);
void RegisterBiasKernels(KernelRegistry& registry);
void RegisterSoftmaxKernels(KernelRegistry& registry);
void RegisterCrossEntropyKernels(KernelRegistry& registry);
void RegisterInTopKKernels(KernelRegistry& registry);
void RegisterAttentionKernels(KernelRegistry& registry);
void RegisterL2LossKernels(KernelRegistry& registry);
void RegisterConv2DKernels(KernelRegistry& registry);
void RegisterPoolKernels(KernelRegistry& registry);
void RegisterBatchNormKernels(KernelRegistry& registry);
void RegisterLrnKernels(KernelRegistry& registry);
void RegisterFusedKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_NN_REGISTER_H_
