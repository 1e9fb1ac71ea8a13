#include "weir/ops/gradients.h"

namespace weir {

void RegisterCollectiveGradients(GradientRegistry& registry);  // collective/collective_grad.cc

void RegisterBuiltinGradients(GradientRegistry& registry) {
  RegisterArrayGradients(registry);
  RegisterAudioGradients(registry);
  RegisterCollectiveGradients(registry);
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
