#include "weir/autodiff/gradient_registry.h"
#include "weir/ops/gradients.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir {

void RegisterMathGradients(GradientRegistry& registry) {
  RegisterUnaryGradients(registry);
  RegisterBinaryGradients(registry);
  RegisterSpecialGradients(registry);
  RegisterComplexGradients(registry);
  RegisterReductionGradients(registry);
  RegisterScanGradients(registry);
  RegisterSegmentGradients(registry);
  RegisterMatMulGradients(registry);
}

}  // namespace weir
