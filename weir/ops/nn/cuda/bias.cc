// BiasAdd, BiasAddV1 and BiasAddGrad on GPUs.
#include "weir/device/cuda/launch.h"
#include "weir/device/cuda/reduction.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

constexpr char kBiasSource[] = "weir/ops/nn/cuda/bias.cu";

StatusOr<bool> HasChannelsSecond(const KernelInit& init) {
  if (!init.HasAttr("data_format")) return false;
  WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
  return format.starts_with("NC");
}

class GpuBiasAddKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuBiasAddKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->channels_second_, HasChannelsSecond(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape(), bias = ctx.input(1).shape();
    if (shape.rank() < 2) return InvalidArgument("Input tensor must be at least 2D: ", shape.ToString());
    if (!bias.IsVector()) return InvalidArgument("Biases must be 1D: ", bias.ToString());
    const int axis = channels_second_ ? 1 : shape.rank() - 1;
    if (bias.dim(0) != shape.dim(axis)) {
      return InvalidArgument(channels_second_
                                 ? "Must provide as many biases as the channel dimension of the input tensor: "
                                 : "Must provide as many biases as the last dimension of the input tensor: ",
                             bias.ToString(), " vs. ", shape.ToString());
    }
    const int64_t inner = shape.Slice(axis + 1, shape.rank()).num_elements();
    const DeviceAddress from = Address(ctx.input(0)), added = Address(ctx.input(1));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    const int64_t outer = shape.Slice(0, axis).num_elements();
    return LaunchOver(ctx, {kBiasSource, Cat("AddBias<", DeviceTypeName(out->dtype()), ", ", inner == 1, ">")},
                      shape.num_elements(), from, added, Address(*out), outer, shape.dim(axis), inner);
  }

 private:
  bool channels_second_ = false;
};

class GpuBiasAddGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuBiasAddGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->channels_second_, HasChannelsSecond(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    if (gradient.rank() < 2) {
      return InvalidArgument("Input tensor must be at least 2D: ", gradient.shape().ToString());
    }
    const int axis = channels_second_ ? 1 : gradient.rank() - 1;
    std::vector<bool> reduced(static_cast<size_t>(gradient.rank()), true);
    reduced[static_cast<size_t>(axis)] = false;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape{gradient.dim(axis)}));
    return Reduce(ctx, "Sum", gradient, reduced, *out);
  }

 private:
  bool channels_second_ = false;
};

}  // namespace

void RegisterBiasKernels(GpuRegistry& registry) {
  registry.Add("BiasAdd", MakeKernel<GpuBiasAddKernel>);
  registry.Add("BiasAddV1", MakeKernel<GpuBiasAddKernel>);
  registry.Add("BiasAddGrad", MakeKernel<GpuBiasAddGradKernel>);
}

}  // namespace weir::cuda
