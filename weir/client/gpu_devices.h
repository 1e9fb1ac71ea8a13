// The GPUs of this machine as devices of an environment.
#ifndef WEIR_CLIENT_GPU_DEVICES_H_
#define WEIR_CLIENT_GPU_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/runtime/environment.h"
#include "weir/runtime/gpu_options.h"
#include "weir/tensor/dlpack.h"

namespace WEIR_PUBLIC weir {

// Adds a device for every GPU, with its kernels and rewrites. OK, having done nothing, on a machine without a driver or
// a GPU, and in a build without support for them.
Status AddGpuDevices(Environment* environment, const GpuOptions& options);

// Whether products, convolutions and recurrent layers of floats may round their operands to TensorFloat-32 (10 bits
// behind the point), in the whole process. They may by default, as in TensorFlow; $WEIR_CUDA_TF32=0 says no. False, and
// without effect, in a build without support for GPUs.
bool AllowsTensorFloat32();
void AllowTensorFloat32(bool allowed);
// A card that the driver shows.
struct GpuCard {
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  std::string pci_bus_id;
  int64_t memory = 0;
};
// Those of this machine, by their numbers. Starts none of them. Empty without a driver, and if weir is told to use
// none.
std::vector<GpuCard> ListGpuCards();

// False if the build has no support for GPUs.
bool IsBuiltWithGpus();
// Whether products and convolutions of floats may round their operands to TensorFloat-32; at first they may.
void SetGpuTensorFloat32(bool allowed);
// Counts the most memory that was in use from now on. False if the device keeps no such count.
bool ForgetGpuPeak(Device& device);

// The number of the card that a device is (a part of); -1 for other devices.
int GpuCardOf(const Device& device);
// A GPU's tensor for other libraries of the process, and theirs for it, without a copy (tensor/dlpack.h). Both wait
// until the GPU has done what it was given so far. REQUIRES: the tensor is in the device's memory.
StatusOr<dlpack::ManagedTensor*> GpuToDLPack(const Tensor& tensor, Device& device);
// NOT_FOUND if no device of the set is the array's card.
StatusOr<Tensor> GpuFromDLPack(dlpack::ManagedTensor* managed, const DeviceSet& devices);

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
