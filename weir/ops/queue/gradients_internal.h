// The files of this family's gradients.
#ifndef WEIR_OPS_QUEUE_GRADIENTS_INTERNAL_H_
#define WEIR_OPS_QUEUE_GRADIENTS_INTERNAL_H_

namespace weir {

class GradientRegistry;

void RegisterTensorArrayGradients(GradientRegistry& registry);
void RegisterTensorListGradients(GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_GRADIENTS_INTERNAL_H_
