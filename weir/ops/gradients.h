// The families' gradients (`<file>_grad.cc`, library weir_gradients).
#ifndef WEIR_OPS_GRADIENTS_H_
#define WEIR_OPS_GRADIENTS_H_

namespace weir {

class GradientRegistry;

void RegisterArrayGradients(GradientRegistry& registry);
void RegisterAudioGradients(GradientRegistry& registry);
void RegisterControlFlowGradients(GradientRegistry& registry);
void RegisterDataGradients(GradientRegistry& registry);
void RegisterImageGradients(GradientRegistry& registry);
void RegisterLinalgGradients(GradientRegistry& registry);
void RegisterMathGradients(GradientRegistry& registry);
void RegisterNnGradients(GradientRegistry& registry);
void RegisterQueueGradients(GradientRegistry& registry);
void RegisterRandomGradients(GradientRegistry& registry);
void RegisterSparseGradients(GradientRegistry& registry);
void RegisterStateGradients(GradientRegistry& registry);
// All of them.
void RegisterBuiltinGradients(GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_GRADIENTS_H_
