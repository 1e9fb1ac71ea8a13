// Convolutions of images with few channels, as color photographs, as products of cuBLASLt: the windows of some images
// at a time become rows of a matrix. cuDNN's kernels for so few channels reach a tenth of the card's speed.
#include <algorithm>

#include "weir/base/strings.h"
#include "weir/device/cuda/blas.h"
#include "weir/ops/nn/cuda/convolution.h"

namespace weir::cuda {
namespace {

constexpr char kSource[] = "weir/ops/nn/cuda/patch_convolution.cu";
constexpr int64_t kMostInChannels = 4, kLeastTaps = 16, kMostTaps = 1024;
constexpr int64_t kLeastPlaces = 4096;                  // below, the launches take longer than they save
constexpr int64_t kMostPatchBytes = int64_t{32} << 20;  // of one matrix of windows: it stays in the cache

// As in the source.
struct Geometry {
  int64_t height, width, out_height, out_width;
  int32_t stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
};

int64_t TapsOf(const ImageConvolution& c) { return c.taps() * c.in_channels; }
// Elements of a load of 16 bytes, of which rows have a whole number.
int64_t PackOf(DType dtype) { return static_cast<int64_t>(16 / SizeOf(dtype)); }
int64_t RowOf(const ImageConvolution& c, DType dtype) {
  const int64_t pack = PackOf(dtype);
  return (TapsOf(c) + pack - 1) / pack * pack;
}
// Images whose windows are made at a time.
int64_t ImagesAtOnce(const ImageConvolution& c, DType dtype) {
  const auto bytes = static_cast<int64_t>(SizeOf(dtype)) * RowOf(c, dtype) * c.out_places();
  return std::clamp<int64_t>(kMostPatchBytes / bytes, 1, c.batch);
}

Geometry GeometryOf(const ImageConvolution& c) {
  const nn::WindowAxis &y = c.axes[0], &x = c.axes[1];
  auto narrow = [](int64_t number) { return static_cast<int32_t>(number); };
  return {.height = y.input,
          .width = x.input,
          .out_height = y.output,
          .out_width = x.output,
          .stride_y = narrow(y.stride),
          .stride_x = narrow(x.stride),
          .dilation_y = narrow(y.dilation),
          .dilation_x = narrow(x.dilation),
          .before_y = narrow(y.before),
          .before_x = narrow(x.before)};
}

Status MakePatches(KernelContext& ctx, const ImageConvolution& c, DType dtype, DeviceAddress image, int64_t places,
                   const Tensor& patches) {
  const int64_t row = RowOf(c, dtype), pack = PackOf(dtype);
  const std::string name = Cat("MakePatches<", DeviceTypeName(dtype), ", ", c.axes[0].size, ", ", c.axes[1].size, ", ",
                               c.in_channels, ", ", row, ", ", pack, ">");
  return Launch(ctx, {kSource, name}, ShapeFor(ctx, places * row / pack), GeometryOf(c), image, places,
                Address(patches));
}

Status RunForward(KernelContext& ctx, const ImageConvolution& c, DType dtype, const ConvolutionAddresses& at,
                  const FusedAddresses& fused) {
  const int64_t images = ImagesAtOnce(c, dtype), row = RowOf(c, dtype);
  const size_t element = SizeOf(dtype);
  WEIR_ASSIGN_OR_RETURN(Tensor patches, ctx.AllocateTemp(dtype, Shape({images * c.out_places(), row})));
  for (int64_t first = 0; first < c.batch; first += images) {
    const int64_t places = std::min(images, c.batch - first) * c.out_places();
    const auto read = static_cast<size_t>(first * c.in_places() * c.in_channels) * element;
    const auto written = static_cast<size_t>(first * c.out_places() * c.out_channels) * element;
    WEIR_RETURN_IF_ERROR(MakePatches(ctx, c, dtype, at.image + read, places, patches));
    const MatrixProduct product{
        .dtype = dtype,
        .m = places,
        .n = c.out_channels,
        .k = TapsOf(c),
        .a_row = row,
        .bias = fused.bias,
        .activation = fused.relu ? MatrixProduct::Activation::kRelu : MatrixProduct::Activation::kNone};
    WEIR_RETURN_IF_ERROR(Multiply(ctx, product, Address(patches), at.filter, at.output + written));
  }
  return OkStatus();
}

// The sums of all parts are float.
Status RunFilter(KernelContext& ctx, const ImageConvolution& c, DType dtype, const ConvolutionAddresses& at) {
  const int64_t images = ImagesAtOnce(c, dtype), row = RowOf(c, dtype), elements = TapsOf(c) * c.out_channels;
  const size_t element = SizeOf(dtype);
  const bool is_whole = images >= c.batch, is_float = dtype == DType::kFloat;
  WEIR_ASSIGN_OR_RETURN(Tensor patches, ctx.AllocateTemp(dtype, Shape({images * c.out_places(), row})));
  Tensor sums;
  if (!is_whole && !is_float) {
    WEIR_ASSIGN_OR_RETURN(sums, ctx.AllocateTemp(DType::kFloat, Shape({elements})));
  }
  const DeviceAddress to = sums.has_value() ? Address(sums) : at.filter;
  for (int64_t first = 0; first < c.batch; first += images) {
    const int64_t places = std::min(images, c.batch - first) * c.out_places();
    const auto read = static_cast<size_t>(first * c.in_places() * c.in_channels) * element;
    const auto slopes = static_cast<size_t>(first * c.out_places() * c.out_channels) * element;
    WEIR_RETURN_IF_ERROR(MakePatches(ctx, c, dtype, at.image + read, places, patches));
    const MatrixProduct product{.dtype = dtype,
                                .output = sums.has_value() ? DType::kFloat : dtype,
                                .m = TapsOf(c),
                                .n = c.out_channels,
                                .k = places,
                                .transpose_a = true,
                                .a_row = row,
                                .beta = first > 0 ? 1.0 : 0.0};
    WEIR_RETURN_IF_ERROR(Multiply(ctx, product, Address(patches), at.output + slopes, to));
  }
  if (!sums.has_value()) return OkStatus();
  const std::string name = Cat("ConvertElements<float, ", DeviceTypeName(dtype), ">");
  return LaunchOver(ctx, {"weir/ops/nn/cuda/attention_scores.cu", name}, elements, Address(sums), at.filter, elements);
}

}  // namespace

bool IsOfFewChannels(const ImageConvolution& c) {
  const bool fits_int = std::ranges::all_of(std::span(c.axes).first(2), [](const nn::WindowAxis& axis) {
    return std::max({axis.input, axis.output, axis.stride, axis.dilation, std::abs(axis.before)}) <= 1 << 14;
  });
  return c.part != Convolution::Part::kImage && c.spatial == 2 && c.groups == 1 && !c.channels_second &&
         c.in_channels <= kMostInChannels && TapsOf(c) >= kLeastTaps && TapsOf(c) <= kMostTaps &&
         c.out_channels % 8 == 0 && c.batch * c.out_places() >= kLeastPlaces && fits_int;
}

Status ConvolvePatches(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                       const ConvolutionAddresses& addresses, const FusedAddresses& fused) {
  return c.part == Convolution::Part::kFilter ? RunFilter(ctx, c, dtype, addresses)
                                              : RunForward(ctx, c, dtype, addresses, fused);
}

}  // namespace weir::cuda
