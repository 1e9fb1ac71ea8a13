#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"
#include "weir/ops/queue/gradients_internal.h"

namespace weir {

void RegisterQueueGradients(GradientRegistry& registry) {
  RegisterTensorArrayGradients(registry);
  RegisterTensorListGradients(registry);
}

}  // namespace weir
