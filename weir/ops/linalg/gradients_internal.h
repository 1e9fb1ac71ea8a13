// The files of this family's gradients.
#ifndef WEIR_OPS_LINALG_GRADIENTS_INTERNAL_H_
#define WEIR_OPS_LINALG_GRADIENTS_INTERNAL_H_

namespace weir {

class GradientRegistry;

void RegisterDecompositionGradients(GradientRegistry& registry);
void RegisterEinsumGradients(GradientRegistry& registry);
void RegisterSolveGradients(GradientRegistry& registry);
void RegisterTridiagonalGradients(GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_LINALG_GRADIENTS_INTERNAL_H_
