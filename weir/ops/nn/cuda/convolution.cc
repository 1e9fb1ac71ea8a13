#include "weir/ops/nn/cuda/convolution.h"

#include <algorithm>

#include "weir/base/strings.h"
#include "weir/device/cuda/transpose.h"

namespace weir::cuda {
namespace {

constexpr char kConvolutionSource[] = "weir/ops/nn/cuda/convolution.cu";

// As in the source.
struct DeviceAxis {
  int64_t input = 1, size = 1, stride = 1, dilation = 1, before = 0, output = 1;
};
struct DeviceGeometry {
  int64_t batch, in_channels, out_channels, group_in, group_out;
  int64_t in_place, in_channel, out_place, out_channel;
  DeviceAxis axes[3];
};
struct DeviceFrame {
  int64_t inner[3], outer[3], before[3], channels;
};

Status RunDirect(KernelContext& ctx, const ImageConvolution& c, DType dtype, DeviceAddress image, DeviceAddress filter,
                 DeviceAddress output) {
  DeviceGeometry g{.batch = c.batch,
                   .in_channels = c.in_channels,
                   .out_channels = c.out_channels,
                   .group_in = c.group_in,
                   .group_out = c.out_channels / c.groups,
                   .in_place = c.channels_second ? 1 : c.in_channels,
                   .in_channel = c.channels_second ? c.in_places() : 1,
                   .out_place = c.channels_second ? 1 : c.out_channels,
                   .out_channel = c.channels_second ? c.out_places() : 1,
                   .axes = {}};
  for (int i = 0; i < c.spatial; ++i) {
    const nn::WindowAxis& a = c.axes[i];
    g.axes[3 - c.spatial + i] = {a.input, a.size, a.stride, a.dilation, a.before, a.output};
  }
  const std::string_view type = DeviceTypeName(dtype);
  switch (c.part) {
    case Convolution::Part::kForward:
      return LaunchOver(ctx, {kConvolutionSource, Cat("ConvolveForward<", type, ">")},
                        c.batch * c.out_places() * c.out_channels, g, image, filter, output);
    case Convolution::Part::kImage:
      return LaunchOver(ctx, {kConvolutionSource, Cat("ConvolveImage<", type, ">")},
                        c.batch * c.in_places() * c.in_channels, g, filter, output, image);
    case Convolution::Part::kFilter:
      break;
  }
  const LaunchShape shape{.grid = static_cast<unsigned>((c.out_channels + 31) / 32),
                          .grid_y = static_cast<unsigned>(std::min<int64_t>(c.taps() * c.group_in, 65535)),
                          .block = 32,
                          .block_y = 8};
  return Launch(ctx, {kConvolutionSource, Cat("ConvolveFilter<", type, ">")}, shape, g, image, output, filter);
}

StatusOr<Tensor> AllocateElements(KernelContext& ctx, DType dtype, int64_t n) {
  return ctx.AllocateTemp(dtype, Shape({n}));
}

// Copies images into larger ones with zeros around them, or back out of them.
Status FrameImages(KernelContext& ctx, const Convolution& inner, const Convolution& outer, bool into,
                   DeviceAddress from, DeviceAddress to) {
  DeviceFrame frame{.inner = {1, 1, 1}, .outer = {1, 1, 1}, .before = {0, 0, 0}, .channels = inner.in_channels};
  int64_t n = inner.batch * inner.in_channels;
  for (int i = 0; i < inner.spatial; ++i) {
    const int at = 3 - inner.spatial + i;
    frame.inner[at] = inner.axes[i].input;
    frame.outer[at] = outer.axes[i].input;
    frame.before[at] = inner.axes[i].before;
    n *= into ? outer.axes[i].input : inner.axes[i].input;
  }
  return LaunchOver(ctx, {kConvolutionSource, Cat("FrameImages<", MovedAs(inner.dtype), ", ", into, ">")}, n, frame,
                    from, to, n);
}

// By cuDNN, images with channels last and filters with output channels first. If no engine pads the two sides of an
// image differently, the images are padded first; also for gradients of filters, which some engines that accept such
// paddings compute as if they were the same on both sides.
StatusOr<bool> RunPadded(KernelContext& ctx, const Convolution& c, const ConvolutionTensors& tensors) {
  Convolution padded = c;
  bool is_lopsided = false;
  int64_t elements = c.batch * c.in_channels;
  for (int i = 0; i < c.spatial; ++i) {
    Convolution::Axis& axis = padded.axes[i];
    is_lopsided = is_lopsided || axis.before != axis.after;
    axis.input += axis.before + axis.after;
    axis.before = axis.after = 0;
    elements *= axis.input;
  }
  if (!is_lopsided || c.part != Convolution::Part::kFilter) {
    WEIR_ASSIGN_OR_RETURN(const bool is_done, RunConvolution(ctx, c, tensors));
    if (is_done) return true;
  }
  if (!is_lopsided) return false;
  WEIR_ASSIGN_OR_RETURN(Tensor image, AllocateElements(ctx, c.dtype, elements));
  ConvolutionTensors with_padding = tensors;
  with_padding.image = Address(image);
  if (c.part != Convolution::Part::kImage) {
    WEIR_RETURN_IF_ERROR(FrameImages(ctx, c, padded, /*into=*/true, tensors.image, Address(image)));
    return RunConvolution(ctx, padded, with_padding);
  }
  WEIR_ASSIGN_OR_RETURN(const bool is_done_padded, RunConvolution(ctx, padded, with_padding));
  if (!is_done_padded) return false;
  WEIR_RETURN_IF_ERROR(FrameImages(ctx, c, padded, /*into=*/false, Address(image), tensors.image));
  return true;
}

StatusOr<bool> RunLibrary(KernelContext& ctx, const ImageConvolution& image, DType dtype, ConvolutionTensors tensors,
                          const FusedAddresses& fused) {
  Convolution c{.part = image.part,
                .dtype = dtype,
                .batch = image.batch,
                .in_channels = image.in_channels,
                .out_channels = image.out_channels,
                .groups = image.groups,
                .spatial = image.spatial,
                .axes = {},
                .has_bias = fused.bias != 0,
                .has_addend = fused.addend != 0,
                .has_relu = fused.relu};
  tensors.bias = fused.bias;
  tensors.addend = fused.addend;
  for (int i = 0; i < image.spatial; ++i) {
    const nn::WindowAxis& a = image.axes[i];
    const int64_t window = (a.size - 1) * a.dilation + 1, reach = (a.output - 1) * a.stride + window;
    int64_t after = std::max<int64_t>(0, reach - a.input - a.before);
    // As much as before if nothing reads it: more engines take that.
    if (after < a.before && (a.input + 2 * a.before - window) / a.stride + 1 == a.output) after = a.before;
    c.axes[i] = {a.input, a.size, a.stride, a.dilation, a.before, after, a.output};
  }
  // The layouts that cuDNN is fast with.
  const int64_t filter_rows = image.taps() * image.group_in;
  WEIR_ASSIGN_OR_RETURN(Tensor filter, AllocateElements(ctx, dtype, filter_rows * c.out_channels));
  const ConvolutionTensors given = tensors;
  tensors.filter = Address(filter);
  if (c.part != Convolution::Part::kFilter) {
    WEIR_RETURN_IF_ERROR(SwapRowsAndColumns(ctx, dtype, given.filter, tensors.filter, 1, filter_rows, c.out_channels));
  }
  Tensor in, out;
  if (image.channels_second) {
    if (fused.addend != 0) return false;
    WEIR_ASSIGN_OR_RETURN(in, AllocateElements(ctx, dtype, c.batch * image.in_places() * c.in_channels));
    WEIR_ASSIGN_OR_RETURN(out, AllocateElements(ctx, dtype, c.batch * image.out_places() * c.out_channels));
    tensors.image = Address(in);
    tensors.output = Address(out);
    if (c.part != Convolution::Part::kImage) {
      WEIR_RETURN_IF_ERROR(
          SwapRowsAndColumns(ctx, dtype, given.image, Address(in), c.batch, c.in_channels, image.in_places()));
    }
    if (c.part != Convolution::Part::kForward) {
      WEIR_RETURN_IF_ERROR(
          SwapRowsAndColumns(ctx, dtype, given.output, Address(out), c.batch, c.out_channels, image.out_places()));
    }
  }
  WEIR_ASSIGN_OR_RETURN(const bool is_done, RunPadded(ctx, c, tensors));
  if (!is_done) return false;
  if (c.part == Convolution::Part::kFilter) {
    WEIR_RETURN_IF_ERROR(SwapRowsAndColumns(ctx, dtype, tensors.filter, given.filter, 1, c.out_channels, filter_rows));
  } else if (image.channels_second && c.part == Convolution::Part::kForward) {
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, dtype, Address(out), given.output, c.batch, image.out_places(), c.out_channels));
  } else if (image.channels_second) {
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, dtype, Address(in), given.image, c.batch, image.in_places(), c.in_channels));
  }
  return true;
}

}  // namespace

StatusOr<bool> ConvolveOnGpu(KernelContext& ctx, const ImageConvolution& c, DType dtype, DeviceAddress image,
                             DeviceAddress filter, DeviceAddress output, const FusedAddresses& fused) {
  const bool has_type = dtype == DType::kFloat || dtype == DType::kHalf || dtype == DType::kBFloat16;
  const bool is_depthwise = c.group_in == 1 && c.groups > 1;
  const bool is_aligned = (image | filter | output | fused.addend) % 32 == 0;
  const ConvolutionAddresses addresses{.image = image, .filter = filter, .output = output};
  if (has_type && is_aligned && HasFewTaps(c)) {
    WEIR_RETURN_IF_ERROR(ConvolveFewTaps(ctx, c, dtype, addresses, fused));
    return true;
  }
  if (has_type && fused.addend == 0 && IsPointwise(c)) {
    WEIR_RETURN_IF_ERROR(ConvolvePointwise(ctx, c, dtype, addresses, fused));
    return true;
  }
  if (has_type && is_aligned && fused.addend == 0 && IsOfFewChannels(c)) {
    WEIR_RETURN_IF_ERROR(ConvolvePatches(ctx, c, dtype, addresses, fused));
    return true;
  }
  if (has_type && !is_depthwise) {
    WEIR_ASSIGN_OR_RETURN(const bool is_done,
                          RunLibrary(ctx, c, dtype, {.image = image, .filter = filter, .output = output}, fused));
    if (is_done) return true;
  }
  if (!fused.empty()) return false;
  WEIR_RETURN_IF_ERROR(RunDirect(ctx, c, dtype, image, filter, output));
  return true;
}

}  // namespace weir::cuda
