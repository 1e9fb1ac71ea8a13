#include "weir/ops/queue/register.h"

namespace weir {

void RegisterQueueKernels(KernelRegistry& registry) {
  RegisterQueueHandleKernels(registry);
  RegisterQueueAccessKernels(registry);
  RegisterBarrierKernels(registry);
  RegisterStackKernels(registry);
  RegisterTensorArrayKernels(registry);
  RegisterTensorArrayBatchKernels(registry);
  RegisterTensorListKernels(registry);
  RegisterTensorListBatchKernels(registry);
  RegisterTensorMapKernels(registry);
  RegisterStageKernels(registry);
  RegisterMapStageKernels(registry);
}

}  // namespace weir
