#include "weir/autodiff/gradient_registry.h"
#include "weir/ops/array/gradients_internal.h"
#include "weir/ops/gradients.h"

namespace weir {

void RegisterArrayGradients(GradientRegistry& registry) {
  RegisterIdentityGradients(registry);
  RegisterJoinGradients(registry);
  RegisterSliceGradients(registry);
  RegisterGatherGradients(registry);
  RegisterRearrangeGradients(registry);
  RegisterDiagonalGradients(registry);
  RegisterPatchGradients(registry);
  RegisterScatterGradients(registry);
}

}  // namespace weir
