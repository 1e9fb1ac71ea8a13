// The kernels of this family: collectives between devices (weir/collective).
#ifndef WEIR_OPS_COLLECTIVE_REGISTER_H_
#define WEIR_OPS_COLLECTIVE_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterCollectiveKernels(KernelRegistry& registry);

// One a file.
void RegisterKeyedCollectiveKernels(KernelRegistry& registry);
void RegisterCommunicatorKernels(KernelRegistry& registry);
void RegisterProcessCollectiveKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_COLLECTIVE_REGISTER_H_
