// Convolutions of tensors on a GPU: by cuDNN where it has the type, else by kernels of our own.
#ifndef WEIR_OPS_NN_CUDA_CONVOLUTION_H_
#define WEIR_OPS_NN_CUDA_CONVOLUTION_H_

#include <atomic>

#include "weir/device/cuda/dnn.h"
#include "weir/ops/nn/window.h"

namespace weir::cuda {

// Images as the op has them; filters as [window..., in_channels / groups, out_channels].
struct ImageConvolution {
  Convolution::Part part = Convolution::Part::kForward;
  int64_t batch = 0, in_channels = 0, out_channels = 0, group_in = 0, groups = 1;
  int spatial = 2;
  std::array<nn::WindowAxis, 3> axes;
  bool channels_second = false;

  int64_t in_places() const { return Product(&nn::WindowAxis::input); }
  int64_t out_places() const { return Product(&nn::WindowAxis::output); }
  int64_t taps() const { return Product(&nn::WindowAxis::size); }

 private:
  int64_t Product(int64_t nn::WindowAxis::*size) const {
    int64_t product = 1;
    for (int i = 0; i < spatial; ++i) product *= axes[i].*size;
    return product;
  }
};

// What may be fused to a forward convolution: output = relu(convolution + addend + bias).
struct FusedAddresses {
  DeviceAddress bias = 0, addend = 0;
  bool relu = false;
  bool empty() const { return bias == 0 && addend == 0 && !relu; }
};

// Enqueues it. False if what is fused cannot be; the caller then does without. REQUIRES: no size is 0.
StatusOr<bool> ConvolveOnGpu(KernelContext& ctx, const ImageConvolution& c, DType dtype, DeviceAddress image,
                             DeviceAddress filter, DeviceAddress output, const FusedAddresses& fused = {});

struct ConvolutionAddresses {
  DeviceAddress image = 0, filter = 0, output = 0;
};

// Convolutions, and gradients of filters, that cuDNN is slow with; of float, half or bfloat16, and deterministic.
// With few filter elements for each output channel (few_tap_convolution.cc). REQUIRES: addresses are multiples of 32.
bool HasFewTaps(const ImageConvolution& c);
Status ConvolveFewTaps(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                       const ConvolutionAddresses& addresses, const FusedAddresses& fused);
// Forward, with few channels of larger images, by tensor cores (narrow_convolution.cc); of float in the precision of
// TensorFloat-32. REQUIRES: nothing is added but a bias.
bool IsNarrow(const KernelContext& ctx, const ImageConvolution& c, DType dtype);
Status ConvolveNarrow(KernelContext& ctx, const ImageConvolution& c, DType dtype, const ConvolutionAddresses& addresses,
                      const FusedAddresses& fused);
// With few channels of larger images (patch_convolution.cc). REQUIRES: nothing is added but a bias.
bool IsOfFewChannels(const ImageConvolution& c);
Status ConvolvePatches(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                       const ConvolutionAddresses& addresses, const FusedAddresses& fused);

// By cuDNN; false if it does not take it. The gradient of a filter may be float where dtype is not.
StatusOr<bool> ConvolveByLibrary(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                                 const ConvolutionAddresses& addresses, const FusedAddresses& fused = {},
                                 bool has_float_filter = false);

// The gradient of a float filter in the precision of TensorFloat-32, by cuDNN's kernels for half if those are faster
// (scaled_halves.cc). False if cuDNN does not take it.
enum class UseOfHalves { kNever, kIfFaster, kAlways };
std::atomic<UseOfHalves>& FilterHalves();  // at first what $WEIR_CUDA_HALVES says: 0, 1, or nothing
bool MayUseHalves(const KernelContext& ctx, const ImageConvolution& c, DType dtype);
StatusOr<bool> ConvolveFilterFast(KernelContext& ctx, const ImageConvolution& c, const ConvolutionAddresses& addresses);

// With windows of one place, in float, half and bfloat16. REQUIRES: nothing is added but a bias.
bool IsPointwise(const ImageConvolution& c);
Status ConvolvePointwise(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                         const ConvolutionAddresses& addresses, const FusedAddresses& fused);

}  // namespace weir::cuda

#endif  // WEIR_OPS_NN_CUDA_CONVOLUTION_H_
