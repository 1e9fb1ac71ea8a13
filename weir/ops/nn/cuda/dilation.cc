// Dilation2D and its gradients on GPUs.
#include "weir/ops/nn/dilation.h"

#include "weir/device/cuda/launch.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

class GpuDilationKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuDilationKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, nn::DilationAttrs::Read(init));
    kernel->op_ = init.schema().name;
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &filter = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const nn::DilationGeometry g, attrs_.MakeGeometry(input.shape(), filter.shape()));
    const bool is_forward = op_ == "Dilation2D", is_image = op_ == "Dilation2DBackpropInput";
    if (!is_forward && ctx.input(2).shape() != g.output) {
      return InvalidArgument("out_backprop has incompatible size.");
    }
    const Shape& shape = is_forward ? g.output : is_image ? input.shape() : filter.shape();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const DeviceDilation device{g.batch, g.channels, AxisOf(g.h), AxisOf(g.w)};
    const int64_t n = g.output.num_elements();
    const std::string_view type = DeviceTypeName(input.dtype());
    auto function = [&](std::string_view name) -> DeviceFunction {
      return {"weir/ops/nn/cuda/dilation.cu", Cat(name, "<", type, ">")};
    };
    if (is_forward) {
      return LaunchOver(ctx, function("Dilate"), n, device, Address(input), Address(filter), Address(*out),
                        DeviceAddress{0});
    }
    WEIR_ASSIGN_OR_RETURN(Tensor best, ctx.AllocateTemp(DType::kInt32, Shape({n, 2})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, function("Dilate"), n, device, Address(input), Address(filter),
                                    DeviceAddress{0}, Address(best)));
    return LaunchOver(ctx, function(is_image ? "DilateImageGrad" : "DilateFilterGrad"), shape.num_elements(), device,
                      Address(best), Address(ctx.input(2)), Address(*out));
  }

 private:
  // As in the source.
  struct DeviceAxis {
    int64_t input, size, stride, rate, before, output;
  };
  struct DeviceDilation {
    int64_t batch, channels;
    DeviceAxis h, w;
  };
  static DeviceAxis AxisOf(const nn::WindowAxis& a) {
    return {a.input, a.size, a.stride, a.dilation, a.before, a.output};
  }

  nn::DilationAttrs attrs_;
  std::string op_;
};

}  // namespace

void RegisterDilationKernels(GpuRegistry& registry) {
  for (const char* op : {"Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter"}) {
    registry.Add(op, MakeKernel<GpuDilationKernel>);
  }
}

}  // namespace weir::cuda
