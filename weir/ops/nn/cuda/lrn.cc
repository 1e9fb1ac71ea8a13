// LRN and its gradient on GPUs.
#include "weir/device/cuda/launch.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

class GpuLrnKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuLrnKernel>();
    Response& r = kernel->response_;
    WEIR_ASSIGN_OR_RETURN(r.radius, init.Attr<int64_t>("depth_radius"));
    WEIR_ASSIGN_OR_RETURN(r.bias, init.Attr<float>("bias"));
    WEIR_ASSIGN_OR_RETURN(r.alpha, init.Attr<float>("alpha"));
    WEIR_ASSIGN_OR_RETURN(r.beta, init.Attr<float>("beta"));
    if (r.radius < 0) return InvalidArgument("depth_radius = ", r.radius, " should be non-negative");
    kernel->is_gradient_ = init.schema().name == "LRNGrad";
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 4) return InvalidArgument(is_gradient_ ? "inputs" : "in", " must be 4-dimensional");
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() != input.shape()) {
        return InvalidArgument("input_grads, input_image, and out_image should have the same shape");
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    Response response = response_;
    response.depth = input.dim(3);
    const int64_t n = input.num_elements();
    const DeviceFunction function{"weir/ops/nn/cuda/lrn.cu", Cat(is_gradient_ ? "NormalizeGrad<" : "Normalize<",
                                                                 DeviceTypeName(input.dtype()), ">")};
    if (!is_gradient_) return LaunchOver(ctx, function, n, response, Address(input), Address(*out), n);
    return LaunchOver(ctx, function, n, response, Address(input), Address(ctx.input(1)), Address(ctx.input(2)),
                      Address(*out), n);
  }

 private:
  struct Response {  // as in the source
    int64_t depth = 0, radius = 0;
    float bias = 0, alpha = 0, beta = 0;
  };
  Response response_;
  bool is_gradient_ = false;
};

}  // namespace

void RegisterLrnKernels(GpuRegistry& registry) {
  registry.Add("LRN", MakeKernel<GpuLrnKernel>);
  registry.Add("LRNGrad", MakeKernel<GpuLrnKernel>);
}

}  // namespace weir::cuda
