#ifndef WEIR_OPS_CONTROL_FLOW_REGISTER_H_
#define WEIR_OPS_CONTROL_FLOW_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterControlFlowKernels(KernelRegistry& registry);

// Its parts.
void RegisterFunctionalKernels(KernelRegistry& registry);
void RegisterLoggingKernels(KernelRegistry& registry);
void RegisterRemoteCallKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_CONTROL_FLOW_REGISTER_H_
