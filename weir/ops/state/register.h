// CPU kernels of the state family: variables of both kinds, mutexes, tensors that a session keeps.
#ifndef WEIR_OPS_STATE_REGISTER_H_
#define WEIR_OPS_STATE_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterStateKernels(KernelRegistry& registry);

void RegisterRefVariableKernels(KernelRegistry& registry);
void RegisterAssignKernels(KernelRegistry& registry);
void RegisterVariableHandleKernels(KernelRegistry& registry);
void RegisterVariableAccessKernels(KernelRegistry& registry);
void RegisterVariableGatherKernels(KernelRegistry& registry);
void RegisterVariableScatterKernels(KernelRegistry& registry);
void RegisterScatterNdKernels(KernelRegistry& registry);
void RegisterStridedSliceAssignKernels(KernelRegistry& registry);
void RegisterCounterKernels(KernelRegistry& registry);
void RegisterMutexKernels(KernelRegistry& registry);
void RegisterSessionTensorKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_STATE_REGISTER_H_
