#include "weir/ops/gradients.h"

namespace weir {

void RegisterBuiltinGradients(GradientRegistry& registry) {
  RegisterArrayGradients(registry);
  RegisterMathGradients(registry);
  RegisterNnGradients(registry);
  RegisterStateGradients(registry);
}

}  // namespace weir
