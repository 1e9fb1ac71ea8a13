// CropAndResize and its gradients on GPUs.
#include "weir/device/cpu/strided_copy.h"
#include "weir/device/cuda/slices.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/image/crop_geometry.h"

namespace weir::cuda {
namespace {

// As device code declares it.
struct Crop {
  int64_t batch = 0, height = 0, width = 0, channels = 0;
  int64_t crop_height = 0, crop_width = 0;
  int32_t is_nearest = 0;
  float outside = 0;
  Crop(const Shape& image, const Shape& crops, bool nearest, float outside = 0)
      : batch(image.dim(0)),
        height(image.dim(1)),
        width(image.dim(2)),
        channels(image.dim(3)),
        crop_height(crops.dim(1)),
        crop_width(crops.dim(2)),
        is_nearest(nearest),
        outside(outside) {}
};

DeviceFunction Function(std::string_view name, DType dtype) {
  return {"weir/ops/image/cuda/crop.cu", Cat(name, "<", DeviceTypeName(dtype), ">")};
}

class CropKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CropKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->nearest_, ReadIsNearest(init));
    WEIR_ASSIGN_OR_RETURN(kernel->outside_, init.Attr<float>("extrapolation_value"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Shape shape, CropShape(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, BadBoxIndex()));
    const Crop crop(image.shape(), shape, nearest_, outside_);
    return LaunchOver(ctx, Function("CropAndResize", image.dtype()), out->num_elements(), crop, Address(image),
                      Address(ctx.input(1)), Address(ctx.input(2)), Address(*out), out->num_elements(), error);
  }

 private:
  bool nearest_ = false;
  float outside_ = 0;
};

class CropGradImageKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CropGradImageKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->nearest_, ReadIsNearest(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& grads = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Shape shape, CropSourceShape(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(ClearElements(ctx, *out));
    if (grads.num_elements() == 0) return OkStatus();
    const Crop crop(shape, grads.shape(), nearest_);
    const int64_t samples = grads.num_elements() / crop.channels;
    WEIR_ASSIGN_OR_RETURN(Tensor pixels, ctx.AllocateTemp(DType::kInt64, Shape({4 * samples, 1})));
    WEIR_ASSIGN_OR_RETURN(Tensor updates, ctx.AllocateTemp(out->dtype(), Shape({4 * samples, crop.channels})));
    WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, BadBoxIndex()));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("SpreadCrops", out->dtype()), samples, crop, Address(grads),
                                    Address(ctx.input(1)), Address(ctx.input(2)), Address(pixels), Address(updates),
                                    samples, error));
    SliceUpdate update;
    update.operation = "AddV2";
    const int64_t limit = crop.batch * crop.height * crop.width;
    update.limits = {&limit, 1};
    update.rows = 4 * samples;
    update.slice_size = crop.channels;
    return UpdateSlices(ctx, update, pixels, updates, Address(*out));
  }

 private:
  bool nearest_ = false;
};

class CropGradBoxesKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &grads = ctx.input(0), &image = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckCropGradBoxes(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({count, 4})));
    if (count == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, BadBoxIndex()));
    const LaunchShape shape{.grid = static_cast<unsigned>(count), .block = 256};
    return Launch(ctx, Function("CropGradBoxes", image.dtype()), shape, Crop(image.shape(), grads.shape(), false),
                  Address(grads), Address(image), Address(ctx.input(2)), Address(ctx.input(3)), Address(*out), error);
  }
};

}  // namespace

void RegisterCropKernels(GpuRegistry& registry) {
  registry.Add("CropAndResize", MakeKernel<CropKernel>);
  registry.Add("CropAndResizeGradImage", MakeKernel<CropGradImageKernel>);
  registry.Add("CropAndResizeGradBoxes", MakeKernel<CropGradBoxesKernel>);
}

}  // namespace weir::cuda
