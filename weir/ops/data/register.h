#ifndef WEIR_OPS_DATA_REGISTER_H_
#define WEIR_OPS_DATA_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterDataKernels(KernelRegistry& registry);

// Its parts.
void RegisterOptionalKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_DATA_REGISTER_H_
