// What control flow itself has no part in: Switch, Merge, loops and calls are differentiated by the sweep.
#include "weir/autodiff/gradient_registry.h"
#include "weir/ops/gradients.h"

namespace weir {

void RegisterControlFlowGradients(GradientRegistry& registry) {
  registry.Add("Print", [](GradientContext& g) -> Gradients { return {g.raw_grad()}; });
}

}  // namespace weir
