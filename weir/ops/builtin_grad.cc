#include "weir/ops/gradients.h"

namespace weir {

void RegisterBuiltinGradients(GradientRegistry& registry) {
  RegisterArrayGradients(registry);
  RegisterAudioGradients(registry);
  RegisterControlFlowGradients(registry);
  RegisterDataGradients(registry);
  RegisterImageGradients(registry);
  RegisterLinalgGradients(registry);
  RegisterMathGradients(registry);
  RegisterNnGradients(registry);
  RegisterQueueGradients(registry);
  RegisterRandomGradients(registry);
  RegisterSparseGradients(registry);
  RegisterStateGradients(registry);
}

}  // namespace weir
