// Convolutions by cuDNN's graph interface: what is fused to one is part of its graph. The engine for a shape is chosen
// once, by cuDNN's heuristics, and kept.
#ifndef WEIR_DEVICE_CUDA_DNN_H_
#define WEIR_DEVICE_CUDA_DNN_H_

#include <array>
#include <cstdint>
#include <string>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// Images with channels last; filters as [out_channels, window..., in_channels / groups].
struct Convolution {
  enum class Part { kForward, kImage, kFilter };  // the latter are the gradients
  struct Axis {
    int64_t input = 1, size = 1, stride = 1, dilation = 1, before = 0, after = 0, output = 1;
  };

  Part part = Part::kForward;
  DType dtype = DType::kFloat;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int spatial = 2;  // axes that there are
  std::array<Axis, 3> axes;
  // Forward only: output = relu(convolution + addend + bias).
  bool has_bias = false, has_addend = false, has_relu = false;
  bool has_float_filter = false;  // the gradient of a filter is float, whatever dtype is
};

// Addresses of what the convolution reads and writes.
struct ConvolutionTensors {
  DeviceAddress image = 0, filter = 0, output = 0;
  DeviceAddress bias = 0;    // out_channels elements
  DeviceAddress addend = 0;  // as the output
};

// Everything that the convolution is, for tables of plans and findings.
std::string KeyOf(const Convolution& convolution);
// Enqueues the convolution; false if no engine of cuDNN takes it. REQUIRES: no size is 0.
StatusOr<bool> RunConvolution(KernelContext& ctx, const Convolution& convolution, const ConvolutionTensors& tensors);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_DNN_H_
