// FakeQuantWithMinMaxArgs, ...Vars, ...VarsPerChannel and their gradients on GPUs.
#include "weir/ops/nn/fake_quant.h"

#include "weir/device/cuda/reduction.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/nn/cuda/quantize.cu", std::move(name)}; }

class FakeQuantKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FakeQuantKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->quant_, nn::FakeQuant::Read(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(quant_.x_input());
    WEIR_ASSIGN_OR_RETURN(std::vector<nn::FakeQuantLevels> levels, quant_.ReadLevels(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    const int64_t n = x.num_elements(), channels = static_cast<int64_t>(levels.size());
    if (!quant_.is_gradient && n == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor table, Upload(ctx, levels));
    if (!quant_.is_gradient) {
      return LaunchOver(ctx, Function("FakeQuant"), n, Address(table), channels, Address(x), Address(*out), n);
    }
    Tensor sides[2];
    DeviceAddress to[2] = {0, 0};
    for (int i = 0; i < 2 && quant_.range != nn::FakeQuant::Range::kArgs; ++i) {
      WEIR_ASSIGN_OR_RETURN(sides[i],
                            ctx.AllocateTemp(DType::kFloat, Shape({channels > 0 ? n / channels : 0, channels})));
      to[i] = Address(sides[i]);
    }
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function("FakeQuantGrad"), n, Address(table), channels, Address(ctx.input(0)),
                                    Address(x), Address(*out), to[0], to[1], n));
    for (int i = 0; i < 2 && quant_.range != nn::FakeQuant::Range::kArgs; ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor * sum, ctx.AllocateOutput(i + 1, ctx.input(2).shape()));
      const bool is_one = quant_.range == nn::FakeQuant::Range::kVars;
      WEIR_RETURN_IF_ERROR(Reduce(ctx, "Sum", sides[i], {true, is_one}, *sum));
    }
    return OkStatus();
  }

 private:
  nn::FakeQuant quant_;
};

}  // namespace

void RegisterFakeQuantKernels(GpuRegistry& registry) {
  for (std::string op : {"FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}) {
    registry.Add(op, MakeKernel<FakeQuantKernel>);
    registry.Add(op + "Gradient", MakeKernel<FakeQuantKernel>);
  }
}

}  // namespace weir::cuda
