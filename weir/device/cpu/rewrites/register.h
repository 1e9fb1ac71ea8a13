// What the host does to its part of a step: fusing for its caches and for oneDNN.
#ifndef WEIR_DEVICE_CPU_REWRITES_REGISTER_H_
#define WEIR_DEVICE_CPU_REWRITES_REGISTER_H_

#include "weir/base/export.h"
#include "weir/passes/device_rewrites.h"

namespace WEIR_PUBLIC weir {

void RegisterCpuRewrites(DeviceRewrites& rewrites);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_REGISTER_H_
