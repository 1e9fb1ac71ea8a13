// Variables of a GPU: what only hands tensors around is done by the host's kernels.
#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterVariableKernels(GpuRegistry& registry) {
  for (const char* op : {"ReadVariableOp", "_ReadVariablesOp", "AssignVariableOp"}) registry.AddMoving(op);
}

}  // namespace weir::cuda
