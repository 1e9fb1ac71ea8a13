// The kernels of this family: queues, barriers, stacks, tensor arrays, lists and maps, staging areas.
#ifndef WEIR_OPS_QUEUE_REGISTER_H_
#define WEIR_OPS_QUEUE_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterQueueKernels(KernelRegistry& registry);

// One a file.
void RegisterQueueHandleKernels(KernelRegistry& registry);
void RegisterQueueAccessKernels(KernelRegistry& registry);
void RegisterBarrierKernels(KernelRegistry& registry);
void RegisterStackKernels(KernelRegistry& registry);
void RegisterTensorArrayKernels(KernelRegistry& registry);
void RegisterTensorArrayBatchKernels(KernelRegistry& registry);
void RegisterTensorListKernels(KernelRegistry& registry);
void RegisterTensorListBatchKernels(KernelRegistry& registry);
void RegisterTensorMapKernels(KernelRegistry& registry);
void RegisterStageKernels(KernelRegistry& registry);
void RegisterMapStageKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_REGISTER_H_
