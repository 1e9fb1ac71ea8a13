// Convolutions with windows of one place as products of cuBLASLt: filters and their gradients stay in the op's layout,
// which cuDNN would have to be given another way round.
#include <algorithm>

#include "weir/device/cuda/blas.h"
#include "weir/ops/nn/cuda/convolution.h"

namespace weir::cuda {

bool IsPointwise(const ImageConvolution& c) {
  const auto axes = std::span(c.axes).first(static_cast<size_t>(c.spatial));
  return c.groups == 1 && !c.channels_second && std::ranges::all_of(axes, [](const nn::WindowAxis& axis) {
           return axis.size == 1 && axis.stride == 1 && axis.before == 0 && axis.input == axis.output;
         });
}

Status ConvolvePointwise(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                         const ConvolutionAddresses& addresses, const FusedAddresses& fused) {
  const int64_t places = c.batch * c.out_places();
  switch (c.part) {
    case Convolution::Part::kForward:
      return Multiply(ctx,
                      {.dtype = dtype,
                       .m = places,
                       .n = c.out_channels,
                       .k = c.in_channels,
                       .bias = fused.bias,
                       .activation = fused.relu ? MatrixProduct::Activation::kRelu : MatrixProduct::Activation::kNone},
                      addresses.image, addresses.filter, addresses.output);
    case Convolution::Part::kImage:
      return Multiply(ctx, {.dtype = dtype, .m = places, .n = c.in_channels, .k = c.out_channels, .transpose_b = true},
                      addresses.output, addresses.filter, addresses.image);
    case Convolution::Part::kFilter:
      break;
  }
  return Multiply(ctx, {.dtype = dtype, .m = c.in_channels, .n = c.out_channels, .k = places, .transpose_a = true},
                  addresses.image, addresses.output, addresses.filter);
}

}  // namespace weir::cuda
