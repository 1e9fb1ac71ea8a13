// The kernels of the far device: a handful, in float.
#ifndef WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_KERNELS_H_
#define WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_KERNELS_H_

#include "weir/framework/kernel_registry.h"

namespace far {

void RegisterFarKernels(weir::KernelRegistry& registry);

}  // namespace far

#endif  // WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_KERNELS_H_
