// ImageProjectiveTransform on GPUs.
#include "weir/ops/image/projective_transform.h"

#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

// As device code declares it.
struct Projection {
  int64_t height = 0, width = 0, channels = 0, out_height = 0, out_width = 0;
  int32_t one_map = 0, is_bilinear = 0, mode = 0;
  float fill = 0;
};

class ProjectiveTransformKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ProjectiveTransformKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->options_, ReadProjectionOptions(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &images = ctx.input(0), &maps = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(ProjectionSizes sizes, ReadProjectionSizes(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    Projection p;
    p.height = images.dim(1);
    p.width = images.dim(2);
    p.channels = images.dim(3);
    p.out_height = sizes.shape.dim(1);
    p.out_width = sizes.shape.dim(2);
    p.one_map = maps.dim(0) == 1;
    p.is_bilinear = options_.is_bilinear;
    p.mode = static_cast<int32_t>(options_.mode);
    p.fill = sizes.fill;
    const std::string name = Cat("ProjectImages<", DeviceTypeName(images.dtype()), ">");
    return LaunchOver(ctx, {"weir/ops/image/cuda/projective_transform.cu", name}, out->num_elements(), p,
                      Address(images), Address(maps), Address(*out), out->num_elements());
  }

 private:
  ProjectionOptions options_;
};

}  // namespace

void RegisterProjectiveTransformKernels(GpuRegistry& registry) {
  registry.Add("ImageProjectiveTransformV2", MakeKernel<ProjectiveTransformKernel>);
  registry.Add("ImageProjectiveTransformV3", MakeKernel<ProjectiveTransformKernel>);
}

}  // namespace weir::cuda
