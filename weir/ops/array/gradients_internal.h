// The files of this family's gradients.
#ifndef WEIR_OPS_ARRAY_GRADIENTS_INTERNAL_H_
#define WEIR_OPS_ARRAY_GRADIENTS_INTERNAL_H_

namespace weir {

class GradientRegistry;

void RegisterIdentityGradients(GradientRegistry& registry);
void RegisterJoinGradients(GradientRegistry& registry);
void RegisterSliceGradients(GradientRegistry& registry);
void RegisterGatherGradients(GradientRegistry& registry);
void RegisterRearrangeGradients(GradientRegistry& registry);
void RegisterDiagonalGradients(GradientRegistry& registry);
void RegisterPatchGradients(GradientRegistry& registry);
void RegisterScatterGradients(GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_GRADIENTS_INTERNAL_H_
