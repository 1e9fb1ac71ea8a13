#include "weir/ops/state/register.h"

namespace weir {

void RegisterStateKernels(KernelRegistry& registry) {
  RegisterRefVariableKernels(registry);
  RegisterAssignKernels(registry);
  RegisterVariableHandleKernels(registry);
  RegisterVariableAccessKernels(registry);
  RegisterVariableGatherKernels(registry);
  RegisterVariableScatterKernels(registry);
  RegisterScatterNdKernels(registry);
  RegisterStridedSliceAssignKernels(registry);
  RegisterCounterKernels(registry);
  RegisterMutexKernels(registry);
  RegisterSessionTensorKernels(registry);
}

}  // namespace weir
