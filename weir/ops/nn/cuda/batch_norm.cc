// FusedBatchNorm (all versions) and its gradient on GPUs.
#include "weir/ops/nn/batch_norm.h"

#include <algorithm>
#include <numeric>

#include "weir/device/cuda/launch.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

constexpr char kNormSource[] = "weir/ops/nn/cuda/batch_norm.cu";
constexpr int64_t kPacksOfThread = 4;    // at least, if there are many
constexpr int64_t kNormalizeBlocks = 3;  // on a processor, as in the source

// These four as in the source.
struct NormImages {
  int64_t outer, channels, inner, piece, pieces;
  int64_t count() const { return outer * inner; }
};
struct NormStatistics {
  DeviceAddress scale, offset, old_mean, old_variance;
  DeviceAddress mean, variance, saved_mean, saved_variance;
  DeviceAddress factor, shift;
  float epsilon, average_factor;
  int32_t is_training;
};
struct NormGradients {
  DeviceAddress scale, variance, scale_gradient, offset_gradient, factor, shift, slope;
  float epsilon;
  int32_t is_training;
};

struct NormRectifier {
  DeviceAddress output = 0, scale = 0, offset = 0, variance = 0;
  float epsilon = 0;

  // What the source calls it.
  std::string_view kind() const { return output != 0 ? "kOutput" : scale != 0 ? "kRecomputed" : "kNoRectifier"; }
};

NormImages ImagesOf(const Shape& shape, DType dtype, bool channels_second) {
  const int axis = channels_second ? 1 : shape.rank() - 1;
  NormImages images{shape.Slice(0, axis).num_elements(), shape.dim(axis),
                    shape.Slice(axis + 1, shape.rank()).num_elements(), 0, 0};
  // Enough blocks for the largest card, of work that is worth one; by the sizes alone, so that sums are the same
  // everywhere. With channels last three blocks run on a processor at a time, and a second round of them would mostly
  // wait; 32 threads of them take 16 bytes of a row each, and a block takes at least 8 rows at a time.
  const auto line = static_cast<int64_t>(32 * (16 / SizeOf(dtype)));
  const int64_t columns = images.inner == 1 ? (images.channels + line - 1) / line : images.channels;
  const int64_t shortest = images.inner == 1 ? 32 : 2048, blocks = images.inner == 1 ? 384 : 1024;
  const int64_t wanted = std::max<int64_t>(1, blocks / std::max<int64_t>(columns, 1));
  images.pieces = std::clamp<int64_t>(images.count() / shortest, 1, wanted);
  images.piece = ((images.count() + images.pieces - 1) / images.pieces + 7) / 8 * 8;
  images.pieces = std::max<int64_t>(1, (images.count() + images.piece - 1) / std::max<int64_t>(images.piece, 1));
  return images;
}

// Threads to normalize so many packs of channels, each of which stays with its channels if possible. What they read of
// those is worth some packs of the image.
LaunchShape NormalizeShape(const KernelContext& ctx, const NormImages& images, int64_t packs, int64_t total) {
  LaunchShape shape = ShapeFor(ctx, (total + kPacksOfThread - 1) / kPacksOfThread);
  if (images.inner != 1) return shape;
  // More blocks than run at a time would read the channels' numbers once more.
  const int64_t most = int64_t{DeviceOf(ctx).gpu().multiprocessors()} * kNormalizeBlocks;
  const int64_t unit = packs / std::gcd<int64_t>(packs, shape.block), grid = std::min<int64_t>(shape.grid, most);
  shape.grid = static_cast<unsigned>(unit <= grid ? grid / unit * unit : grid);
  return shape;
}

// Channels that a thread loads at once: 16 bytes of them, if the tensors allow it.
int PackSize(const NormImages& images, DType dtype, std::initializer_list<DeviceAddress> addresses) {
  DeviceAddress all = 0;
  for (DeviceAddress address : addresses) all |= address;
  const int size = static_cast<int>(16 / SizeOf(dtype));
  return images.inner == 1 && images.channels % size == 0 && all % 16 == 0 ? size : 1;
}

// Threads of a block for as many packs of channels: as few of them idle as can be.
unsigned LanesFor(int64_t packs) {
  unsigned lanes = 32;
  while (lanes > 4 && packs % lanes != 0) lanes /= 2;
  return packs % lanes == 0 ? lanes : 32;
}

// A block for each 32 channels, to join the sums of pieces.
LaunchShape ChannelsShape(int64_t channels) {
  return {.grid = static_cast<unsigned>((channels + 31) / 32), .block = 32, .block_y = 32};
}

// Two sums for each channel and piece. `terms` is a struct of the source.
StatusOr<Tensor> SumTerms(KernelContext& ctx, const NormImages& images, std::string_view terms, DType dtype,
                          DeviceAddress x, DeviceAddress dy, DeviceAddress means, const NormRectifier& rectifier) {
  WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kDouble, Shape({images.pieces, 2, images.channels})));
  const std::string_view type = DeviceTypeName(dtype);
  LaunchShape shape{
      .grid = static_cast<unsigned>(images.channels), .grid_y = static_cast<unsigned>(images.pieces), .block = 256};
  std::string name = Cat("SumPlanes<", terms, ", ", rectifier.kind(), ", ", type, ">");
  if (images.inner == 1) {
    const int pack = PackSize(images, dtype, {x, dy, means, rectifier.output});
    const unsigned lanes = LanesFor(images.channels / pack);
    name = Cat("SumRows<", terms, ", ", rectifier.kind(), ", ", type, ", ", pack, ", ", lanes, ">");
    shape.grid = static_cast<unsigned>((images.channels + lanes * pack - 1) / (lanes * pack));
    shape.block = lanes;
    shape.block_y = 256 / lanes;
  }
  WEIR_RETURN_IF_ERROR(Launch(ctx, {kNormSource, name}, shape, images, x, dy, means, rectifier, Address(sums)));
  return sums;
}

class GpuBatchNormKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuBatchNormKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, nn::NormAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_RETURN_IF_ERROR(nn::CheckNormImage(x.shape()));
    const NormImages images = ImagesOf(x.shape(), x.dtype(), attrs_.channels_second);
    WEIR_RETURN_IF_ERROR(nn::CheckNormInputs(ctx, attrs_, images.channels));
    WEIR_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    Tensor* vectors[4];
    for (int i = 0; i < 4; ++i) {
      WEIR_ASSIGN_OR_RETURN(vectors[i], ctx.AllocateOutput(i + 1, Shape{images.channels}));
    }
    if (ctx.num_outputs() > 5) {
      WEIR_ASSIGN_OR_RETURN(Tensor * reserve, ctx.AllocateOutput(5, Shape()));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*reserve), reserve->num_bytes()));
    }
    if (images.channels == 0) return OkStatus();
    Tensor sums;
    if (attrs_.is_training && images.count() > 0) {
      WEIR_ASSIGN_OR_RETURN(sums, SumTerms(ctx, images, "Spread", x.dtype(), Address(x), 0, 0, {}));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor factor, ctx.AllocateTemp(DType::kFloat, Shape({images.channels})));
    const NormStatistics statistics{.scale = Address(ctx.input(1)),
                                    .offset = Address(ctx.input(2)),
                                    .old_mean = Address(ctx.input(3)),
                                    .old_variance = Address(ctx.input(4)),
                                    .mean = Address(*vectors[0]),
                                    .variance = Address(*vectors[1]),
                                    .saved_mean = Address(*vectors[2]),
                                    .saved_variance = Address(*vectors[3]),
                                    .factor = Address(factor),
                                    .shift = 0,
                                    .epsilon = attrs_.epsilon,
                                    .average_factor = attrs_.average_factor,
                                    .is_training = attrs_.is_training};
    const std::string_view type = DeviceTypeName(x.dtype());
    WEIR_RETURN_IF_ERROR(Launch(ctx, {kNormSource, Cat("FinishNorm<", type, ">")}, ChannelsShape(images.channels),
                                images, Address(x), sums.has_value() ? Address(sums) : 0, statistics));
    const DeviceAddress side = ctx.num_inputs() > 5 ? Address(ctx.input(5)) : 0;
    const DeviceAddress offset = Address(ctx.input(2)), mean = Address(*vectors[2]);
    const int pack = PackSize(images, x.dtype(), {Address(x), side, Address(*y), offset, mean, Address(factor)});
    return Launch(
        ctx, {kNormSource, Cat("Normalize<", type, ", ", attrs_.has_relu, ", ", images.inner == 1, ", ", pack, ">")},
        NormalizeShape(ctx, images, images.channels / pack, x.num_elements() / pack), images, Address(x), mean,
        Address(factor), offset, side, Address(*y));
  }

 private:
  nn::NormAttrs attrs_;
};

class GpuBatchNormGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuBatchNormGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, nn::NormAttrs::Read(init));
    kernel->recomputes_ = init.schema().name == "_BatchNormReluGrad";
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &dy = ctx.input(0), &x = ctx.input(1);
    WEIR_RETURN_IF_ERROR(nn::CheckNormImage(x.shape()));
    WEIR_RETURN_IF_ERROR(nn::CheckNormGradImages(ctx, attrs_));
    const NormImages images = ImagesOf(x.shape(), x.dtype(), attrs_.channels_second);
    for (int i = 2; i < 5; ++i) WEIR_RETURN_IF_ERROR(nn::CheckNormVector(ctx, i, images.channels));
    WEIR_ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * scale, ctx.AllocateOutput(1, Shape{images.channels}));
    WEIR_ASSIGN_OR_RETURN(Tensor * offset, ctx.AllocateOutput(2, Shape{images.channels}));
    for (int i = 3; i < 5; ++i) WEIR_RETURN_IF_ERROR(ctx.AllocateOutput(i, Shape{0}).status());
    if (images.channels == 0) return OkStatus();
    const DeviceAddress mean = Address(ctx.input(3)), variance = Address(ctx.input(4));
    WEIR_ASSIGN_OR_RETURN(const NormRectifier rectifier, RectifierOf(ctx, images.channels));
    WEIR_ASSIGN_OR_RETURN(Tensor sums,
                          SumTerms(ctx, images, "Slopes", x.dtype(), Address(x), Address(dy), mean, rectifier));
    WEIR_ASSIGN_OR_RETURN(Tensor vectors, ctx.AllocateTemp(DType::kFloat, Shape({3, images.channels})));
    const size_t bytes = vectors.num_bytes() / 3;
    const NormGradients gradients{.scale = Address(ctx.input(2)),
                                  .variance = variance,
                                  .scale_gradient = Address(*scale),
                                  .offset_gradient = Address(*offset),
                                  .factor = Address(vectors),
                                  .shift = Address(vectors) + bytes,
                                  .slope = Address(vectors) + 2 * bytes,
                                  .epsilon = attrs_.epsilon,
                                  .is_training = attrs_.is_training};
    WEIR_RETURN_IF_ERROR(
        Launch(ctx, {kNormSource, "FinishNormGrad"}, ChannelsShape(images.channels), images, Address(sums), gradients));
    const int pack = PackSize(images, x.dtype(),
                              {Address(x), Address(dy), rectifier.output, Address(*dx), mean, gradients.factor,
                               gradients.shift, gradients.slope, rectifier.offset});
    return Launch(ctx,
                  {kNormSource, Cat("NormalizeGrad<", DeviceTypeName(x.dtype()), ", ", rectifier.kind(), ", ",
                                    images.inner == 1, ", ", pack, ">")},
                  NormalizeShape(ctx, images, images.channels / pack, x.num_elements() / pack), images, Address(x),
                  Address(dy), rectifier, mean, gradients.factor, gradients.shift, gradients.slope, Address(*dx));
  }

 private:
  StatusOr<NormRectifier> RectifierOf(const KernelContext& ctx, int64_t channels) const {
    if (attrs_.has_relu) return NormRectifier{.output = Address(ctx.input(7))};
    if (!recomputes_) return NormRectifier{};
    if (ctx.num_inputs() > 6) {
      const Shape &y = ctx.input(6).shape(), &x = ctx.input(1).shape();
      if (y != x) return InvalidArgument("y must have the shape of x, got ", y.ToString(), " and ", x.ToString());
      return NormRectifier{.output = Address(ctx.input(6))};
    }
    WEIR_RETURN_IF_ERROR(nn::CheckNormVector(ctx, 5, channels));
    return NormRectifier{.scale = Address(ctx.input(2)),
                         .offset = Address(ctx.input(5)),
                         .variance = Address(ctx.input(4)),
                         .epsilon = attrs_.epsilon};
  }

  bool recomputes_ = false;
  nn::NormAttrs attrs_;
};

}  // namespace

void RegisterBatchNormKernels(GpuRegistry& registry) {
  for (const char* version : {"", "V2", "V3"}) {
    registry.Add(Cat("FusedBatchNorm", version), MakeKernel<GpuBatchNormKernel>);
    registry.Add(Cat("FusedBatchNormGrad", version), MakeKernel<GpuBatchNormGradKernel>);
  }
  registry.Add("_FusedBatchNormEx", MakeKernel<GpuBatchNormKernel>);
  registry.Add("_FusedBatchNormGradEx", MakeKernel<GpuBatchNormGradKernel>);
  registry.kernels().Add(OnGpu("_BatchNormReluGrad").Types("T", {DType::kFloat, DType::kHalf, DType::kBFloat16}),
                         MakeKernel<GpuBatchNormGradKernel>);
}

}  // namespace weir::cuda
