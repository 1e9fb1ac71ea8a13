// FakeQuantWithMinMaxArgs, ...Vars, ...VarsPerChannel and their gradients: values rounded to the levels that a
// quantised type would have.
#include <cmath>
#include <vector>

#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

// The range moved a little, so that zero is one of the levels.
struct Levels {
  float low = 0, high = 0, scale = 0;
  bool is_empty = false;  // a range from 0 to 0: everything is zero

  Levels(float min, float max, int lowest, int highest) {
    is_empty = min == 0.0f && max == 0.0f;
    if (is_empty) return;
    scale = (max - min) / static_cast<float>(highest - lowest);
    const float zero = static_cast<float>(lowest) - min / scale;
    float level = std::round(zero);
    if (zero < static_cast<float>(lowest)) level = static_cast<float>(lowest);
    if (zero > static_cast<float>(highest)) level = static_cast<float>(highest);
    low = (static_cast<float>(lowest) - level) * scale;
    high = (static_cast<float>(highest) - level) * scale;
  }
  float Round(float x) const {
    if (is_empty) return 0.0f;
    if (std::isnan(x)) return x;
    const float inverse = 1.0f / scale;
    const float zero = std::floor(-low * inverse + 0.5f);
    const float shifted = std::max(std::min(x, high), low) - low;
    return std::floor(shifted * inverse - zero + 0.5f) * scale;
  }
  bool Passes(float x) const { return is_empty || (x >= low && x <= high); }
};

class FakeQuantKernel : public Kernel {
 public:
  enum class Range { kArgs, kVars, kPerChannel };

  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, Range range, bool is_gradient) {
    auto kernel = std::make_unique<FakeQuantKernel>();
    kernel->range_ = range;
    kernel->is_gradient_ = is_gradient;
    WEIR_ASSIGN_OR_RETURN(int64_t bits, init.Attr<int64_t>("num_bits"));
    WEIR_ASSIGN_OR_RETURN(bool narrow, init.Attr<bool>("narrow_range"));
    if (bits < 2 || bits > 16) return InvalidArgument("num_bits must be between 2 and 16, inclusive");
    kernel->lowest_ = narrow ? 1 : 0;
    kernel->highest_ = (1 << bits) - 1;
    if (range != Range::kArgs) return kernel;
    WEIR_ASSIGN_OR_RETURN(kernel->min_, init.Attr<float>("min"));
    WEIR_ASSIGN_OR_RETURN(kernel->max_, init.Attr<float>("max"));
    if (!(kernel->min_ < kernel->max_)) {
      return InvalidArgument("min has to be smaller than max, was: ", kernel->min_, " >= ", kernel->max_);
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const int x_input = is_gradient_ ? 1 : 0;
    const Tensor& x = ctx.input(x_input);
    if (is_gradient_ && ctx.input(0).shape() != x.shape()) {
      return InvalidArgument("gradient and input must be the same size");
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<Levels> levels, ReadLevels(ctx, x_input));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    const int64_t channels = static_cast<int64_t>(levels.size());
    const float* from = x.data<float>();
    if (!is_gradient_) {
      ctx.ParallelFor(x.num_elements(), 5, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out->data<float>()[i] = levels[i % channels].Round(from[i]);
      });
      return OkStatus();
    }
    std::vector<float> below(levels.size(), 0.0f), above(levels.size(), 0.0f);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const Levels& range = levels[i % channels];
      const float gradient = ctx.input(0).data<float>()[i];
      // Products, so that a gradient which is not finite is seen in all three sums.
      const bool passes = range.Passes(from[i]);
      out->data<float>()[i] = gradient * (passes ? 1.0f : 0.0f);
      below[i % channels] += gradient * (!passes && from[i] < range.low ? 1.0f : 0.0f);
      above[i % channels] += gradient * (!passes && from[i] > range.high ? 1.0f : 0.0f);
    }
    if (range_ == Range::kArgs) return OkStatus();
    const Shape shape = range_ == Range::kVars ? Shape() : Shape({channels});
    for (int i = 1; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(i, shape));
      std::ranges::copy(i == 1 ? below : above, sums->data<float>());
    }
    return OkStatus();
  }

 private:
  StatusOr<std::vector<Levels>> ReadLevels(const KernelContext& ctx, int x_input) const {
    if (range_ == Range::kArgs) return std::vector<Levels>{Levels(min_, max_, lowest_, highest_)};
    const Tensor &x = ctx.input(x_input), &min = ctx.input(x_input + 1), &max = ctx.input(x_input + 2);
    const int rank = range_ == Range::kVars ? 0 : 1;
    if (min.rank() != rank) return InvalidArgument("`min` must be rank ", rank, " but is rank ", min.rank());
    if (max.rank() != rank) return InvalidArgument("`max` must be rank ", rank, " but is rank ", max.rank());
    int64_t channels = 1;
    if (rank == 1) {
      if (x.rank() == 0) return InvalidArgument("input must be at least 1 dimensional");
      channels = x.dim(x.rank() - 1);
      if (min.dim(0) != channels) {
        return InvalidArgument("min has incorrect size, expected ", channels, " was ", min.dim(0));
      }
      if (max.dim(0) != channels) {
        return InvalidArgument("max has incorrect size, expected ", channels, " was ", max.dim(0));
      }
    }
    std::vector<Levels> out;
    for (int64_t i = 0; i < channels; ++i) {
      out.emplace_back(min.data<float>()[i], max.data<float>()[i], lowest_, highest_);
    }
    return out;
  }

  Range range_ = Range::kArgs;
  bool is_gradient_ = false;
  int lowest_ = 0, highest_ = 255;
  float min_ = 0, max_ = 0;
};

}  // namespace

void RegisterFakeQuantKernels(KernelRegistry& registry) {
  using Range = FakeQuantKernel::Range;
  const std::pair<std::string, Range> kOps[] = {{"FakeQuantWithMinMaxArgs", Range::kArgs},
                                                {"FakeQuantWithMinMaxVars", Range::kVars},
                                                {"FakeQuantWithMinMaxVarsPerChannel", Range::kPerChannel}};
  for (const auto& [op, range] : kOps) {
    registry.Add(KernelBuilder(op),
                 [range = range](const KernelInit& init) { return FakeQuantKernel::Make(init, range, false); });
    registry.Add(KernelBuilder(op + "Gradient"),
                 [range = range](const KernelInit& init) { return FakeQuantKernel::Make(init, range, true); });
  }
}

}  // namespace weir
