// CPU kernels of conditional accumulators.
#ifndef WEIR_OPS_ACCUMULATOR_REGISTER_H_
#define WEIR_OPS_ACCUMULATOR_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

void RegisterAccumulatorKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_ACCUMULATOR_REGISTER_H_
