// CPU kernels of the table family: look-up tables.
#ifndef WEIR_OPS_TABLE_REGISTER_H_
#define WEIR_OPS_TABLE_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterTableKernels(KernelRegistry& registry);

void RegisterTableHandleKernels(KernelRegistry& registry);
void RegisterTableAccessKernels(KernelRegistry& registry);
void RegisterTableInitKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_TABLE_REGISTER_H_
