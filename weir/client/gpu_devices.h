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

// Adds a device for every GPU, with its kernels and rewrites. OK, without any effect, on a machine without a driver or
// a GPU, and in a build without GPU support.
Status AddGpuDevices(Environment* environment, const GpuOptions& options);

// Whether matrix products, convolutions and recurrent layers of floats may round their operands to TensorFloat-32 (10
// bits of mantissa), in the whole process. True by default, as in TensorFlow; $WEIR_CUDA_TF32=0 disables it. Always
// false in a build without GPU support.
bool AllowsTensorFloat32();
void AllowTensorFloat32(bool allowed);
// A card found by the driver.
struct GpuCard {
  std::string name;          // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  std::string pci_bus_id;
  int64_t memory = 0;
};
// The cards of this machine, by number. Does not start any of them. Empty without a driver, and if weir must not use
// GPUs.
std::vector<GpuCard> ListGpuCards();

// False if the build has no GPU support.
bool IsBuiltWithGpus();
// Sets whether matrix products and convolutions of floats may round their operands to TensorFloat-32; initially true.
void SetGpuTensorFloat32(bool allowed);
// Resets the peak memory usage of a device to its current usage. False if the device does not record it.
bool ForgetGpuPeak(Device& device);

// The number of the card that a device is (a part of); -1 for other devices.
int GpuCardOf(const Device& device);
// Share a GPU's tensor with other libraries of the process, and vice versa, without a copy (tensor/dlpack.h). Both wait
// until the GPU has done all work enqueued so far. REQUIRES: the tensor is in the device's memory.
StatusOr<dlpack::ManagedTensor*> GpuToDLPack(const Tensor& tensor, Device& device);
// NOT_FOUND if the array's card is not a device of the set.
StatusOr<Tensor> GpuFromDLPack(dlpack::ManagedTensor* managed, const DeviceSet& devices);

// NVIDIA's libraries as this process would load them, the driver first. Loads them.
struct GpuLibrary {
  std::string name;     // "cuBLASLt"
  std::string file;     // empty if there is none
  std::string problem;  // why it could not be loaded, and what to install
};
std::vector<GpuLibrary> FindGpuLibraries();

// The CUDA release that the driver supports: "13.0". NOT_FOUND without a driver, UNAVAILABLE if it does not start.
StatusOr<std::string> GpuDriverVersion();

}  // namespace weir

#endif  // WEIR_CLIENT_GPU_DEVICES_H_
