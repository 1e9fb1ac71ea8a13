// Changes of colours on GPUs.
#include "weir/ops/image/color.h"

#include "weir/device/cuda/segments.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/image/cuda/color.cu", std::move(name)}; }

class ChangeColorsKernel : public Kernel {
 public:
  // The name of a change in color.cu, and that of its amount if it has one.
  ChangeColorsKernel(const char* change, const char* amount) : change_(change), amount_(amount) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    WEIR_RETURN_IF_ERROR(CheckColors(image.shape(), amount_ == nullptr ? 1 : 3));
    if (amount_ != nullptr) WEIR_RETURN_IF_ERROR(CheckScalar(ctx.input(1), amount_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.shape()));
    const DeviceAddress amount = amount_ != nullptr ? Address(ctx.input(1)) : 0;
    return LaunchOver(ctx, Function(Cat("ChangeColors<", DeviceTypeName(image.dtype()), ", ", change_, ">")),
                      image.num_elements() / 3, Address(image), amount, Address(*out), image.num_elements() / 3);
  }

 private:
  const char* const change_;
  const char* const amount_;
};

class AdjustContrastKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    const int rank = image.rank();
    if (rank < 3) return InvalidArgument("input must be at least 3-D, got shape", image.shape().ToString());
    WEIR_RETURN_IF_ERROR(CheckScalar(ctx.input(1), "contrast_factor"));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.shape()));
    const int64_t n = out->num_elements();
    if (n == 0) return OkStatus();
    const int64_t channels = image.dim(rank - 1), pixels = image.dim(rank - 2) * image.dim(rank - 3);
    const int64_t images = n / (channels * pixels);
    WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, image.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor means, ctx.AllocateTemp(DType::kFloat, Shape({images, channels})));
    if (image.dtype() == DType::kFloat) {
      WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(sums), Address(image), image.num_bytes()));
    } else {
      WEIR_RETURN_IF_ERROR(ConvertElements(ctx, image, sums));
    }
    const LaunchShape shape{.grid = static_cast<unsigned>(images), .block = 1024};
    WEIR_RETURN_IF_ERROR(Launch(ctx, Function("ChannelMeans"), shape, Address(sums), pixels, channels, Address(means)));
    return LaunchOver(ctx, Function(Cat("AdjustContrast<", DeviceTypeName(image.dtype()), ">")), n, Address(image),
                      Address(means), Address(ctx.input(1)), pixels, channels, Address(*out), n);
  }
};

}  // namespace

void RegisterColorKernels(GpuRegistry& registry) {
  struct Change {
    const char *op, *function, *amount;
  };
  for (const Change& change :
       {Change{"RGBToHSV", "ToHsv", nullptr}, Change{"HSVToRGB", "ToRgb", nullptr},
        Change{"AdjustHue", "AdjustHue", "delta"}, Change{"AdjustSaturation", "AdjustSaturation", "scale"}}) {
    registry.Add(change.op, [change](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<ChangeColorsKernel>(change.function, change.amount);
    });
  }
  registry.Add("AdjustContrastv2", MakeKernel<AdjustContrastKernel>);
}

}  // namespace weir::cuda
