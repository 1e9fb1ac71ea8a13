// The files of this family's gradients.
#ifndef WEIR_OPS_MATH_GRADIENTS_INTERNAL_H_
#define WEIR_OPS_MATH_GRADIENTS_INTERNAL_H_

namespace weir {

class GradientRegistry;

void RegisterUnaryGradients(GradientRegistry& registry);
void RegisterBinaryGradients(GradientRegistry& registry);
void RegisterSpecialGradients(GradientRegistry& registry);
void RegisterComplexGradients(GradientRegistry& registry);
void RegisterReductionGradients(GradientRegistry& registry);
void RegisterScanGradients(GradientRegistry& registry);
void RegisterSegmentGradients(GradientRegistry& registry);
void RegisterMatMulGradients(GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_MATH_GRADIENTS_INTERNAL_H_
