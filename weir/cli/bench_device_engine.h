// `weir bench engine --device GPU:0`: what the host pays for an eager operation on a device, and how fast copies are.
#ifndef WEIR_CLI_BENCH_DEVICE_ENGINE_H_
#define WEIR_CLI_BENCH_DEVICE_ENGINE_H_

#include <string>

#include "weir/base/status.h"

namespace weir {

// Prints a line for each measurement; each takes about so many seconds.
Status BenchDeviceEngine(const std::string& device, double seconds);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_DEVICE_ENGINE_H_
