// The texts of device code that are embedded in weir (cmake/EmbedDeviceCode.cmake).
#ifndef WEIR_DEVICE_CUDA_DEVICE_CODE_H_
#define WEIR_DEVICE_CUDA_DEVICE_CODE_H_

#include <span>
#include <string_view>

namespace weir::cuda {

struct DeviceCodeFile {
  const char* path;  // from the source tree's root: "weir/ops/math/cuda/reduction.cu"
  const char* text;
};

// All of them, by path.
std::span<const DeviceCodeFile> DeviceCodeFiles();

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_DEVICE_CODE_H_
