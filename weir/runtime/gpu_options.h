// Which GPUs a process uses, and how. The options of the first session hold for the whole process.
#ifndef WEIR_RUNTIME_GPU_OPTIONS_H_
#define WEIR_RUNTIME_GPU_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

class ConfigProto;  // wire format

struct GpuOptions {
  bool enabled = true;  // $WEIR_CUDA=off also disables them
  // Comma-separated indices into the cards that $CUDA_VISIBLE_DEVICES leaves, in order of use: "1,0". Empty: all cards.
  std::string visible_devices;
  int max_devices = -1;        // upper limit on the number of visible cards; -1: no limit
  double memory_fraction = 0;  // of each card's memory that this process may use; 0: all that is free
  bool allow_growth = true;    // allocate memory as needed; false: all of it at the start
  // For each visible card, the memory limits of its logical devices in bytes (0: all that is free). Empty: each card is
  // one device.
  std::vector<std::vector<int64_t>> logical_devices;
  // Stream priorities of the logical devices, as the driver counts them: lower is more urgent. Empty: no priorities.
  std::vector<std::vector<int>> priorities;

  // Reads gpu_options and device_count. INVALID_ARGUMENT if they contradict each other. `allow_growth` is ignored:
  // memory is always allocated as needed.
  static StatusOr<GpuOptions> FromConfig(const ConfigProto& config);
  void ToConfig(ConfigProto* config) const;
};

// Whether GPUs that were started with options `before` can serve a request for options `now`. ALREADY_EXISTS if `now`
// lists other cards.
Status CheckSameGpus(const GpuOptions& now, const GpuOptions& before);

}  // namespace weir

#endif  // WEIR_RUNTIME_GPU_OPTIONS_H_
