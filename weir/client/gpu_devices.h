// The GPUs of this machine as devices of an environment.
#ifndef WEIR_CLIENT_GPU_DEVICES_H_
#define WEIR_CLIENT_GPU_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/runtime/environment.h"

namespace WEIR_PUBLIC weir {

struct GpuOptions {
  bool enabled = true;  // $WEIR_CUDA=off says no, too
  // Numbers of the cards to use, in this order, among those that $CUDA_VISIBLE_DEVICES leaves: "1,0". Empty: all.
  std::string visible_devices;
  double memory_fraction = 0;  // of each card's memory that this process may take; 0: what is free
  bool allow_growth = true;    // take memory as it is needed; else all of it at once
  // Logical devices of each visible card, as their limits in bytes. Empty: each card is one device.
  std::vector<std::vector<int64_t>> logical_devices;
};

// Adds a device for every GPU, with its kernels and rewrites. OK, having done nothing, on a machine without a driver or
// a GPU, and in a build without support for them.
Status AddGpuDevices(Environment* environment, const GpuOptions& options);

// Whether products, convolutions and recurrent layers of floats may round their operands to TensorFloat-32 (10 bits
// behind the point), in the whole process. They may by default, as in TensorFlow; $WEIR_CUDA_TF32=0 says no. False, and
// without effect, in a build without support for GPUs.
bool AllowsTensorFloat32();
void AllowTensorFloat32(bool allowed);

// NVIDIA's libraries as this process would load them, the driver first. Loads them.
struct GpuLibrary {
  std::string name;     // "cuBLASLt"
  std::string file;     // empty if there is none
  std::string problem;  // why, and what to install
};
std::vector<GpuLibrary> FindGpuLibraries();

// The release of CUDA that the driver is for: "13.0". NOT_FOUND without a driver, UNAVAILABLE if it does not start.
StatusOr<std::string> GpuDriverVersion();

}  // namespace weir

#endif  // WEIR_CLIENT_GPU_DEVICES_H_
