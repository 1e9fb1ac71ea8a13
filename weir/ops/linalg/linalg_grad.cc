#include "weir/autodiff/gradient_registry.h"
#include "weir/ops/gradients.h"
#include "weir/ops/linalg/gradients_internal.h"

namespace weir {

void RegisterLinalgGradients(GradientRegistry& registry) {
  RegisterDecompositionGradients(registry);
  RegisterEinsumGradients(registry);
  RegisterSolveGradients(registry);
  RegisterTridiagonalGradients(registry);
}

}  // namespace weir
