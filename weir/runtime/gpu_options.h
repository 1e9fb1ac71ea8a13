// Which GPUs a process uses, and how. What the first session says counts for the whole process.
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
  bool enabled = true;  // $WEIR_CUDA=off says no, too
  // Numbers of the cards to use, in this order, among those that $CUDA_VISIBLE_DEVICES leaves: "1,0". Empty: all.
  std::string visible_devices;
  int max_devices = -1;        // of the visible cards, at most so many; -1: any number
  double memory_fraction = 0;  // of each card's memory that this process may take; 0: what is free
  bool allow_growth = true;    // take memory as it is needed; else all of it at once
  // Logical devices of each visible card, as their limits in bytes (0: what is free). Empty: each card is one device.
  std::vector<std::vector<int64_t>> logical_devices;
  // Priorities of their streams, as the driver counts: less is more urgent. Empty: none is.
  std::vector<std::vector<int>> priorities;

  // gpu_options and device_count of a config. INVALID_ARGUMENT if they contradict each other. Memory is taken as it is
  // needed whatever `allow_growth` says.
  static StatusOr<GpuOptions> FromConfig(const ConfigProto& config);
  void ToConfig(ConfigProto* config) const;
};

// Whether GPUs that were started with `before` can serve who asks for `now`: ALREADY_EXISTS if it lists other cards.
Status CheckSameGpus(const GpuOptions& now, const GpuOptions& before);

}  // namespace weir

#endif  // WEIR_RUNTIME_GPU_OPTIONS_H_
