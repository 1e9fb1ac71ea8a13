#include <algorithm>
#include <limits>

#include "weir/base/strings.h"
#include "weir/ops/nn/cuda/convolution.h"

namespace weir::cuda {
namespace {

constexpr char kSource[] = "weir/ops/nn/cuda/few_tap_convolution.cu";
constexpr int64_t kMostTaps = 32, kMostInChannels = 2, kMostOutChannels = 256;
constexpr int64_t kPack = 8;       // as in the source
constexpr int64_t kTapsOfSum = 9;  // whose sums a thread has in registers

// As in the source.
struct Geometry {
  int64_t batch, height, width, out_height, out_width, out_channels;
  int32_t stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
};

int64_t TapsOf(const ImageConvolution& c) { return c.taps() * c.in_channels; }

bool FitsInt(const ImageConvolution& c) {
  return std::ranges::all_of(std::span(c.axes).first(2), [](const nn::WindowAxis& axis) {
    return std::max({axis.input, axis.output, axis.stride, axis.dilation}) <= 1 << 15 &&
           std::abs(axis.before) <= 1 << 15;
  });
}

Status RunForward(KernelContext& ctx, const ImageConvolution& c, const std::string& window, const Geometry& g,
                  std::string_view type, const ConvolutionAddresses& at, const FusedAddresses& fused) {
  LaunchShape shape = ShapeFor(ctx, c.batch * c.out_places() * c.out_channels / kPack);
  shape.shared_bytes = static_cast<unsigned>(TapsOf(c) * c.out_channels * static_cast<int64_t>(sizeof(float)));
  return Launch(ctx, {kSource, Cat("FewTapForward<", type, ", ", window, ">")}, shape, g, at.image, at.filter,
                fused.bias, fused.addend, static_cast<int32_t>(fused.relu), at.output);
}

Status RunFilter(KernelContext& ctx, const ImageConvolution& c, const std::string& window, const Geometry& g,
                 std::string_view type, const ConvolutionAddresses& at) {
  const int64_t packs = c.out_channels / kPack, taps = TapsOf(c), elements = taps * c.out_channels;
  const LaunchShape shape = ShapeFor(ctx, c.batch * c.out_places() * packs);
  WEIR_ASSIGN_OR_RETURN(Tensor parts, ctx.AllocateTemp(DType::kFloat, Shape({int64_t{shape.grid}, elements})));
  for (int64_t first = 0; first < taps; first += kTapsOfSum) {
    const std::string name =
        Cat("FewTapFilter<", type, ", ", window, ", ", first, ", ", std::min(kTapsOfSum, taps - first), ">");
    WEIR_RETURN_IF_ERROR(
        Launch(ctx, {kSource, name}, shape, g, at.image, at.output, static_cast<int32_t>(packs), Address(parts)));
  }
  const LaunchShape finish{.grid = static_cast<unsigned>((elements + 7) / 8)};
  return Launch(ctx, {kSource, Cat("FewTapFinish<", type, ">")}, finish, Address(parts), int64_t{shape.grid}, elements,
                at.filter);
}

}  // namespace

bool HasFewTaps(const ImageConvolution& c) {
  const int64_t packs = c.out_channels / kPack;
  return c.part != Convolution::Part::kImage && c.spatial == 2 && c.groups == 1 && !c.channels_second &&
         c.in_channels <= kMostInChannels && TapsOf(c) <= kMostTaps && c.out_channels % kPack == 0 &&
         c.out_channels <= kMostOutChannels && (packs & (packs - 1)) == 0 && FitsInt(c);
}

Status ConvolveFewTaps(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                       const ConvolutionAddresses& addresses, const FusedAddresses& fused) {
  const nn::WindowAxis &y = c.axes[0], &x = c.axes[1];
  auto narrow = [](int64_t number) { return static_cast<int32_t>(number); };
  const Geometry g{.batch = c.batch,
                   .height = y.input,
                   .width = x.input,
                   .out_height = y.output,
                   .out_width = x.output,
                   .out_channels = c.out_channels,
                   .stride_y = narrow(y.stride),
                   .stride_x = narrow(x.stride),
                   .dilation_y = narrow(y.dilation),
                   .dilation_x = narrow(x.dilation),
                   .before_y = narrow(y.before),
                   .before_x = narrow(x.before)};
  const std::string window = Cat(y.size, ", ", x.size, ", ", c.in_channels);
  const std::string_view type = DeviceTypeName(dtype);
  return c.part == Convolution::Part::kFilter ? RunFilter(ctx, c, window, g, type, addresses)
                                              : RunForward(ctx, c, window, g, type, addresses, fused);
}

}  // namespace weir::cuda
