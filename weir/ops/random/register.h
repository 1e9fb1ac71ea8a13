// CPU kernels of the random family: values, shuffles, draws from distributions, candidate samplers.
#ifndef WEIR_OPS_RANDOM_REGISTER_H_
#define WEIR_OPS_RANDOM_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterRandomKernels(KernelRegistry& registry);

void RegisterRandomValueKernels(KernelRegistry& registry);
void RegisterRandomStateKernels(KernelRegistry& registry);
void RegisterRandomShuffleKernels(KernelRegistry& registry);
void RegisterMultinomialKernels(KernelRegistry& registry);
void RegisterGammaKernels(KernelRegistry& registry);
void RegisterPoissonKernels(KernelRegistry& registry);
void RegisterParameterizedNormalKernels(KernelRegistry& registry);
void RegisterCandidateKernels(KernelRegistry& registry);
void RegisterBinomialKernels(KernelRegistry& registry);
void RegisterIndexShuffleKernels(KernelRegistry& registry);
void RegisterGammaGradKernels(KernelRegistry& registry);
void RegisterUnigramKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_RANDOM_REGISTER_H_
