// `weir bench train --device GPU:0`: models of the library on a device, timed as a training loop sees them.
#ifndef WEIR_CLI_BENCH_DEVICE_H_
#define WEIR_CLI_BENCH_DEVICE_H_

#include <cstdint>
#include <string>

#include "weir/cli/bench_library.h"

namespace weir {

struct DeviceBenchOptions {
  std::string device;              // "GPU:0"
  std::string precision = "tf32";  // one of kPrecisions
  bool is_training = true;
  std::string filter;  // only models whose names contain this
  int64_t batch = 0;   // 0: the model's own
  int steps = 30;      // of a round
  std::string traces;  // a folder for a trace of one step of each model; may be empty
};

inline constexpr const char* kPrecisions[] = {"float32", "tf32", "bfloat16", "float16"};

// Prints a line for each model: milliseconds of a step in the best of three rounds of steps that are given to the
// device one after the other, examples a second, the most memory that the device's tensors took, the processor time of
// a step on the host, and the losses of the first and the 20th step. A model that fails gets a line with the error.
Status BenchOnDevice(const bench::Library& library, const DeviceBenchOptions& options);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_DEVICE_H_
