// CPU kernels of the train family: the update rules of optimizers, for variables of both kinds, whole or by rows.
#ifndef WEIR_OPS_TRAIN_REGISTER_H_
#define WEIR_OPS_TRAIN_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterTrainKernels(KernelRegistry& registry);

void RegisterDescentKernels(KernelRegistry& registry);
void RegisterAdagradKernels(KernelRegistry& registry);
void RegisterAdamKernels(KernelRegistry& registry);
void RegisterRmsPropKernels(KernelRegistry& registry);
void RegisterFtrlKernels(KernelRegistry& registry);
void RegisterProximalKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_TRAIN_REGISTER_H_
