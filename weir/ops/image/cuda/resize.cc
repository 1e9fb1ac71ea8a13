// ResizeBilinear, ResizeNearestNeighbor and their gradients on GPUs.
#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/image/resize_geometry.h"

namespace weir::cuda {
namespace {

// As device code declares it.
struct Geometry {
  int64_t channels = 0, in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  float height_scale = 1, width_scale = 1;
  int32_t half_pixel_centers = 0, align_corners = 0;
  Geometry(const ResizeGeometry& g, const PixelPlacing& placing)
      : channels(g.channels),
        in_height(g.in_height),
        in_width(g.in_width),
        out_height(g.out_height),
        out_width(g.out_width),
        height_scale(g.height_scale),
        width_scale(g.width_scale),
        half_pixel_centers(placing.half_pixel_centers),
        align_corners(placing.align_corners) {}
};

class ResizeImageKernel : public ResizeKernel {
 public:
  // The name of a template of resize.cu.
  explicit ResizeImageKernel(std::string function) : function_(std::move(function)) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadResizeGeometry(ctx, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.out_shape()));
    return Run(ctx, g, image.dtype(), *out);
  }

 protected:
  Status Run(KernelContext& ctx, const ResizeGeometry& g, DType dtype, Tensor& out) const {
    return LaunchOver(ctx, {"weir/ops/image/cuda/resize.cu", Cat(function_, "<", DeviceTypeName(dtype), ">")},
                      out.num_elements(), Geometry(g, placing), Address(ctx.input(0)), Address(out),
                      out.num_elements());
  }

 private:
  const std::string function_;
};

class ResizeGradKernel : public ResizeImageKernel {
 public:
  ResizeGradKernel(std::string function, bool takes_size)
      : ResizeImageKernel(std::move(function)), takes_size_(takes_size) {}

  Status Compute(KernelContext& ctx) override {
    const Shape gradients = ctx.input(0).shape();
    Shape source = ctx.input(1).shape();
    if (takes_size_) {
      WEIR_ASSIGN_OR_RETURN(source, ReadSourceShape(gradients, ctx.input(1)));
    }
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadGradientGeometry(gradients, source, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, source));
    return Run(ctx, g, out->dtype(), *out);
  }

 private:
  const bool takes_size_;
};

template <typename K, typename... Args>
KernelFactory Factory(Args... args) {
  return [=](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    auto kernel = std::make_unique<K>(args...);
    WEIR_ASSIGN_OR_RETURN(kernel->placing, PixelPlacing::Read(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  };
}

}  // namespace

void RegisterResizeKernels(GpuRegistry& registry) {
  registry.Add("ResizeBilinear", Factory<ResizeImageKernel>("ResizeBilinear"));
  registry.Add("ResizeNearestNeighbor", Factory<ResizeImageKernel>("ResizeNearest"));
  registry.Add("ResizeBilinearGrad", Factory<ResizeGradKernel>("ResizeBilinearGrad", false));
  registry.Add("ResizeNearestNeighborGrad", Factory<ResizeGradKernel>("ResizeNearestGrad", true));
}

}  // namespace weir::cuda
