#include "weir/ops/linalg/cuda/register.h"

namespace weir::cuda {

void RegisterLinalgKernels(GpuRegistry& registry) {
  RegisterDecompositionKernels(registry);
  RegisterEinsumKernels(registry);
  RegisterLuKernels(registry);
  RegisterTriangularKernels(registry);
}

}  // namespace weir::cuda
