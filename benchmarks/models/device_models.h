// Networks that are trained or run on a device, with their data there: a step needs nothing of the host's memory.
#ifndef BENCHMARKS_MODELS_DEVICE_MODELS_H_
#define BENCHMARKS_MODELS_DEVICE_MODELS_H_

#include <memory>
#include <span>

#include "weir/cli/bench_library.h"

namespace weir::bench {

std::span<const ModelWorkload> DeviceModelWorkloads();
// NOT_FOUND if it is none of these.
StatusOr<std::unique_ptr<DeviceModelRunner>> MakeDeviceModelRunner(std::shared_ptr<Environment> environment,
                                                                   const ModelWorkload& workload,
                                                                   const DeviceModelOptions& options);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_DEVICE_MODELS_H_
