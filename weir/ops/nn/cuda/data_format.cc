// DataFormatDimMap and DataFormatVecPermute on GPUs.
#include "weir/ops/nn/data_format.h"

#include "weir/device/cuda/launch.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

class GpuDimMapKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuDimMapKernel>();
    std::string from, to;
    WEIR_ASSIGN_OR_RETURN(const std::vector<int> map, nn::ReadFormats(init, from, to));
    kernel->map_.size = static_cast<int32_t>(map.size());
    std::ranges::copy(map, kernel->map_.to);
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    return LaunchOver(ctx, {"weir/ops/nn/cuda/data_format.cu", Cat("MapDims<", DeviceTypeName(x.dtype()), ">")},
                      x.num_elements(), map_, Address(x), Address(*out), x.num_elements());
  }

 private:
  struct {  // as in the source
    int32_t size, to[5];
  } map_ = {};
};

}  // namespace

void RegisterDataFormatKernels(GpuRegistry& registry) {
  registry.Add("DataFormatDimMap", MakeKernel<GpuDimMapKernel>);
  registry.AddPortable("DataFormatVecPermute");
}

}  // namespace weir::cuda
