#include <algorithm>

#include "weir/base/strings.h"
#include "weir/device/cuda/blas.h"
#include "weir/ops/nn/cuda/convolution.h"

namespace weir::cuda {
namespace {

constexpr char kSource[] = "weir/ops/nn/cuda/narrow_convolution.cu";
constexpr int64_t kMostInChannels = 4, kLeastTaps = 16, kMostTaps = 512, kMostLine = 64;
constexpr int64_t kLeastPlaces = 4096;  // below, other ways are as fast
constexpr int64_t kTilesAtOnce = 16;    // of 16 places each, that the warps of a block take

// As in the source.
struct Geometry {
  int64_t images, height, width, out_height, out_width, channels;
  int32_t stride_y, before_y, before_x, rows, row_tiles, pitch, lines;
};

// How the convolution is cut up; rows is 0 if it does not fit into a block's memory.
struct Plan {
  Geometry geometry{};
  int64_t n = 0, steps = 0, shared_bytes = 0;
};

Plan PlanFor(const KernelContext& ctx, const ImageConvolution& c, DType dtype) {
  const auto size = static_cast<int64_t>(SizeOf(dtype));
  const int64_t in_word = 4 / size;
  const nn::WindowAxis &y = c.axes[0], &x = c.axes[1];
  const int64_t chunks = (x.size * c.in_channels + 7) / 8;
  Plan plan;
  for (int64_t n : {96, 64, 32}) {
    if (plan.n == 0 && c.out_channels % n == 0) plan.n = n;
  }
  if (plan.n == 0) return plan;
  plan.steps = (y.size * chunks + in_word - 1) / in_word;
  auto narrow = [](int64_t number) { return static_cast<int32_t>(number); };
  Geometry& g = plan.geometry;
  g = {.images = c.batch,
       .height = y.input,
       .width = x.input,
       .out_height = y.output,
       .out_width = x.output,
       .channels = c.out_channels,
       .stride_y = narrow(y.stride),
       .before_y = narrow(y.before),
       .before_x = narrow(x.before),
       .rows = 0,
       .row_tiles = narrow((x.output + 15) / 16),
       .pitch = 0,
       .lines = 0};
  g.pitch = narrow(((g.row_tiles * 16 - 1) * x.stride * c.in_channels + chunks * 8 + 1) / 2 * 2);
  for (int64_t rows = std::clamp<int64_t>(kTilesAtOnce / g.row_tiles, 1, y.output); rows > 0; --rows) {
    const int64_t lines = (rows - 1) * y.stride + y.size;
    plan.shared_bytes = plan.steps * plan.n * 32 + plan.n * 4 + lines * g.pitch * size;
    if (plan.shared_bytes > DeviceOf(ctx).gpu().max_shared_bytes()) continue;
    g.rows = narrow(rows);
    g.lines = narrow(lines);
    break;
  }
  return plan;
}

}  // namespace

bool IsNarrow(const KernelContext& ctx, const ImageConvolution& c, DType dtype) {
  const nn::WindowAxis &y = c.axes[0], &x = c.axes[1];
  const bool is_small = std::max({y.input, x.input, y.output, x.output, std::abs(y.before), std::abs(x.before),
                                  y.stride, x.stride}) <= 1 << 12;
  return c.part == Convolution::Part::kForward && c.spatial == 2 && c.groups == 1 && !c.channels_second &&
         c.in_channels <= kMostInChannels && c.taps() * c.in_channels >= kLeastTaps &&
         c.taps() * c.in_channels <= kMostTaps && x.size * c.in_channels <= kMostLine && y.dilation == 1 &&
         x.dilation == 1 && c.batch * c.out_places() >= kLeastPlaces && is_small && y.before >= 0 && x.before >= 0 &&
         (dtype != DType::kFloat || AllowsTensorFloat32()) && PlanFor(ctx, c, dtype).geometry.rows > 0;
}

Status ConvolveNarrow(KernelContext& ctx, const ImageConvolution& c, DType dtype, const ConvolutionAddresses& addresses,
                      const FusedAddresses& fused) {
  const Plan plan = PlanFor(ctx, c, dtype);
  const Geometry& g = plan.geometry;
  const std::string sizes =
      Cat(DeviceTypeName(dtype), ", ", c.axes[0].size, ", ", c.axes[1].size, ", ", c.in_channels, ", ");
  const int64_t words = c.out_channels / 8 * plan.steps * 64;
  WEIR_ASSIGN_OR_RETURN(Tensor filter, ctx.AllocateTemp(DType::kUInt32, Shape({words})));
  WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("ArrangeFilter<", sizes, plan.n, ">")}, words, addresses.filter,
                                  c.out_channels, words, Address(filter)));
  const Gpu& gpu = DeviceOf(ctx).gpu();
  const int64_t tiles = c.batch * ((g.out_height + g.rows - 1) / g.rows);
  const int64_t at_a_time = gpu.max_shared_bytes() / plan.shared_bytes >= 2 ? 2 : 1;
  const LaunchShape shape{
      .grid = static_cast<unsigned>(std::min<int64_t>(tiles, int64_t{gpu.multiprocessors()} * at_a_time)),
      .grid_y = static_cast<unsigned>(c.out_channels / plan.n),
      .block = 256,
      .shared_bytes = static_cast<unsigned>(plan.shared_bytes)};
  return Launch(ctx, {kSource, Cat("ConvolveNarrow<", sizes, c.axes[1].stride, ", ", plan.n, ">")}, shape, g,
                addresses.image, Address(filter), fused.bias, int32_t{fused.relu}, addresses.output);
}

}  // namespace weir::cuda
