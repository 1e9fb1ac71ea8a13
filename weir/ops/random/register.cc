#include "weir/ops/random/register.h"

namespace weir {

void RegisterRandomKernels(KernelRegistry& registry) {
  RegisterRandomValueKernels(registry);
  RegisterRandomStateKernels(registry);
  RegisterRandomShuffleKernels(registry);
  RegisterMultinomialKernels(registry);
  RegisterGammaKernels(registry);
  RegisterPoissonKernels(registry);
  RegisterParameterizedNormalKernels(registry);
  RegisterCandidateKernels(registry);
  RegisterBinomialKernels(registry);
  RegisterIndexShuffleKernels(registry);
  RegisterGammaGradKernels(registry);
  RegisterUnigramKernels(registry);
}

}  // namespace weir
