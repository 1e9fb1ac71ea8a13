// `weir bench train --device GPU:0`: measures models of the library on a device, as seen by a training loop.
#ifndef WEIR_CLI_BENCH_DEVICE_H_
#define WEIR_CLI_BENCH_DEVICE_H_

#include <cstdint>
#include <string>

#include "weir/cli/bench_library.h"
#include "weir/client/environment.h"

namespace weir {

struct DeviceBenchOptions {
  std::string device;              // "GPU:0"
  std::string precision = "tf32";  // one of kPrecisions
  std::string recompute = "none";  // ParseRecomputation
  bool is_training = true;
  std::string filter;  // only models whose names contain this
  int64_t batch = 0;   // 0: the model's default
  int steps = 30;      // per round
  std::string traces;  // a folder for traces, one step per model; may be empty
};

inline constexpr const char* kPrecisions[] = {"float32", "tf32", "bfloat16", "float16"};

// NOT_FOUND if there is none of this name ("GPU:0").
StatusOr<Device*> FindDevice(const Environment& environment, const std::string& name);

// Prints a line for each model: the milliseconds per step in the best of three rounds of steps that are enqueued one
// after the other, examples per second, the peak memory of the device's tensors, the processor time of a step on the
// host, and the losses of the first and the 20th step. If a model fails, its line has the error.
Status BenchOnDevice(const bench::Library& library, const DeviceBenchOptions& options);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_DEVICE_H_
