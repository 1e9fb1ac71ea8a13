#include "weir/ops/train/register.h"

namespace weir {

void RegisterTrainKernels(KernelRegistry& registry) {
  RegisterDescentKernels(registry);
  RegisterAdagradKernels(registry);
  RegisterAdamKernels(registry);
  RegisterRmsPropKernels(registry);
  RegisterFtrlKernels(registry);
  RegisterProximalKernels(registry);
}

}  // namespace weir
