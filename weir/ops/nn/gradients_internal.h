// The files of this family's gradients.
#ifndef WEIR_OPS_NN_GRADIENTS_INTERNAL_H_
#define WEIR_OPS_NN_GRADIENTS_INTERNAL_H_

namespace weir {

class GradientRegistry;

void RegisterActivationGradients(GradientRegistry& registry);
void RegisterBatchNormGradients(GradientRegistry& registry);
void RegisterConvolutionGradients(GradientRegistry& registry);
void RegisterCudnnRnnGradients(GradientRegistry& registry);
void RegisterLossGradients(GradientRegistry& registry);
void RegisterPoolGradients(GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_NN_GRADIENTS_INTERNAL_H_
