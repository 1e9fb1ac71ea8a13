// The kernels of reading and writing files.
#ifndef WEIR_OPS_IO_REGISTER_H_
#define WEIR_OPS_IO_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterIoKernels(KernelRegistry& registry);

void RegisterRestoreKernels(KernelRegistry& registry);
void RegisterShardNameKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_IO_REGISTER_H_
