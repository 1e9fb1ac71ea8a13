// Kernels of the host for nodes of a GPU: for nodes whose arguments are all in the host's memory, and for those that
// move tensors without looking at their elements, such as reading a variable.
#ifndef WEIR_OPS_CUDA_HOST_KERNEL_H_
#define WEIR_OPS_CUDA_HOST_KERNEL_H_

#include "weir/framework/kernel_registry.h"

namespace weir::cuda {

// A factory that makes the host's kernel of the same op and runs it with the GPU's resources. `registry` must outlive
// it.
KernelFactory HostKernelFactory(const KernelRegistry& registry);

}  // namespace weir::cuda

#endif  // WEIR_OPS_CUDA_HOST_KERNEL_H_
