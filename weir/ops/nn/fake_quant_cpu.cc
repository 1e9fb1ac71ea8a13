// FakeQuantWithMinMaxArgs, ...Vars, ...VarsPerChannel and their gradients: values rounded to the levels that a
// quantised type would have.
#include <cmath>
#include <vector>

#include "weir/ops/nn/fake_quant.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using nn::FakeQuant;
using nn::FakeQuantLevels;

float Round(const FakeQuantLevels& levels, float x) {
  if (levels.is_empty) return 0.0f;
  if (std::isnan(x)) return x;
  const float inverse = 1.0f / levels.scale;
  const float zero = std::floor(-levels.low * inverse + 0.5f);
  const float shifted = std::max(std::min(x, levels.high), levels.low) - levels.low;
  return std::floor(shifted * inverse - zero + 0.5f) * levels.scale;
}
bool Passes(const FakeQuantLevels& levels, float x) { return levels.is_empty || (x >= levels.low && x <= levels.high); }

class FakeQuantKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FakeQuantKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->quant_, FakeQuant::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(quant_.x_input());
    WEIR_ASSIGN_OR_RETURN(std::vector<FakeQuantLevels> levels, quant_.ReadLevels(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    const int64_t channels = static_cast<int64_t>(levels.size());
    const float* from = x.data<float>();
    if (!quant_.is_gradient) {
      ctx.ParallelFor(x.num_elements(), 5, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out->data<float>()[i] = Round(levels[i % channels], from[i]);
      });
      return OkStatus();
    }
    std::vector<float> below(levels.size(), 0.0f), above(levels.size(), 0.0f);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const FakeQuantLevels& range = levels[i % channels];
      const float gradient = ctx.input(0).data<float>()[i];
      // Products, so that a gradient which is not finite is seen in all three sums.
      const bool passes = Passes(range, from[i]);
      out->data<float>()[i] = gradient * (passes ? 1.0f : 0.0f);
      below[i % channels] += gradient * (!passes && from[i] < range.low ? 1.0f : 0.0f);
      above[i % channels] += gradient * (!passes && from[i] > range.high ? 1.0f : 0.0f);
    }
    if (quant_.range == FakeQuant::Range::kArgs) return OkStatus();
    for (int i = 1; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(i, ctx.input(2).shape()));
      std::ranges::copy(i == 1 ? below : above, sums->data<float>());
    }
    return OkStatus();
  }

 private:
  FakeQuant quant_;
};

}  // namespace

void RegisterFakeQuantKernels(KernelRegistry& registry) {
  for (std::string op : {"FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}) {
    registry.Add(KernelBuilder(op), MakeKernel<FakeQuantKernel>);
    registry.Add(KernelBuilder(op + "Gradient"), MakeKernel<FakeQuantKernel>);
  }
}

}  // namespace weir
