// QuantizeAndDequantizeV2, V3, V4 and the gradient of V4: values rounded to evenly spaced levels, of which zero is one.
#include <cmath>
#include <limits>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/nn/register_extended.h"
#include "weir/ops/nn/rounding.h"

namespace weir {
namespace {

template <typename T>
class RoundingKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RoundingKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->rounding_, nn::Rounding::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(int64_t bits, rounding_.Bits(ctx));
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, rounding_.SlicesOf(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    if (!rounding_.range_given && input.num_elements() == 0) return OkStatus();  // slices without number, perhaps
    for (int64_t i = 0; i < slices.count; ++i) {
      T min, max;
      const T* x = input.data<T>();
      if (rounding_.range_given) {
        min = ctx.input(1).data<T>()[i], max = ctx.input(2).data<T>()[i];
        if (min > max) return InvalidArgument("Invalid range: input_min ", min, " > input_max ", max);
      } else {
        min = std::numeric_limits<T>::max();
        max = std::numeric_limits<T>::lowest();
        slices.For(i, [&](int64_t k) {
          min = std::min(min, x[k]);
          max = std::max(max, x[k]);
        });
      }
      Round(slices, i, x, min, max, bits, out->data<T>());
    }
    return OkStatus();
  }

 private:
  void Round(const nn::Slices& slices, int64_t slice, const T* x, T min, T max, int64_t bits, T* out) const {
    const T lowest = static_cast<T>(rounding_.Lowest(bits)), highest = static_cast<T>(rounding_.Highest(bits));
    const T by_min = lowest * min > 0 ? lowest / min : std::numeric_limits<T>::max();
    const T by_max = highest * max > 0 ? highest / max : std::numeric_limits<T>::max();
    T scale = by_max, inverse = max / highest;
    if (by_min < by_max) {
      scale = by_min;
      inverse = min / lowest;
      max = highest * inverse;
    } else {
      min = lowest * inverse;
    }
    slices.For(slice, [&](int64_t k) {
      const T level = (rounding_.range_given ? std::max(std::min(x[k], max), min) : x[k]) * scale;
      out[k] = (rounding_.half_up ? std::floor(level + T(0.5)) : std::rint(level)) * inverse;
    });
  }

  nn::Rounding rounding_;
};

// The gradient passes where the input lies in the range.
template <typename T>
class RoundingGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RoundingGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor &gradient = ctx.input(0), &input = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, nn::RoundingGradSlices(ctx, axis_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < slices.count; ++i) {
      const T min = ctx.input(2).data<T>()[i], max = ctx.input(3).data<T>()[i];
      slices.For(i, [&](int64_t k) {
        const T x = input.data<T>()[k];
        out->data<T>()[k] = x >= min && x <= max ? gradient.data<T>()[k] : T(0);
      });
    }
    for (int i = 1; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Zeros(input.dtype(), ctx.input(i + 1).shape()));
      ctx.set_output(i, std::move(zeros));
    }
    return OkStatus();
  }

 private:
  int64_t axis_ = -1;
};

template <typename T>
void RegisterRounding(KernelRegistry& registry) {
  for (std::string_view op : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"}) {
    registry.Add(KernelBuilder(op).Types("T", TypeList<T>{}), MakeKernel<RoundingKernel<T>>);
  }
  registry.Add(KernelBuilder("QuantizeAndDequantizeV4Grad").Types("T", TypeList<T>{}),
               MakeKernel<RoundingGradKernel<T>>);
}

}  // namespace

void RegisterQuantizeAndDequantizeKernels(KernelRegistry& registry) {
  RegisterRounding<float>(registry);
  RegisterRounding<double>(registry);
}

}  // namespace weir
