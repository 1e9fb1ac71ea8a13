// QuantizeAndDequantizeV2, V3, V4 and the gradient of V4: values rounded to evenly spaced levels, of which zero is one.
#include <cmath>
#include <limits>

#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/register_extended.h"
#include "weir/ops/nn/slices.h"

namespace weir {
namespace {

// Without an axis the range is two scalars, not vectors of one element.
Status CheckScalars(const KernelContext& ctx, int64_t axis, int first, std::string_view end) {
  for (int i = first; axis < 0 && i < first + 2; ++i) {
    if (ctx.input(i).rank() == 0) continue;
    return InvalidArgument(ctx.node().schema->inputs[i].name, " must be a scalar", end);
  }
  return OkStatus();
}

template <typename T>
class RoundingKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RoundingKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->signed_, init.Attr<bool>("signed_input"));
    WEIR_ASSIGN_OR_RETURN(kernel->range_given_, init.Attr<bool>("range_given"));
    WEIR_ASSIGN_OR_RETURN(kernel->narrow_, init.Attr<bool>("narrow_range"));
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    if (init.HasAttr("round_mode")) {
      WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("round_mode"));
      kernel->half_up_ = mode == "HALF_UP";
    }
    if (kernel->axis_ < -1) return InvalidArgument("Axis must be at least -1. Found ", kernel->axis_);
    if (!init.HasAttr("num_bits")) return kernel;
    WEIR_ASSIGN_OR_RETURN(kernel->bits_, init.Attr<int64_t>("num_bits"));
    WEIR_RETURN_IF_ERROR(kernel->CheckBits(kernel->bits_));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    int64_t bits = bits_;
    if (bits < 0) {
      WEIR_ASSIGN_OR_RETURN(bits, IntScalar(ctx.input(3), "num_bits"));
      WEIR_RETURN_IF_ERROR(CheckBits(bits));
    }
    const Tensor& input = ctx.input(0);
    // A range that is not used may be anything.
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, nn::SlicesAlong(ctx, 0, axis_, range_given_ ? 1 : -1));
    if (range_given_ && bits_ >= 0) {
      WEIR_RETURN_IF_ERROR(CheckScalars(ctx, axis_, 1, "."));
      // Only the version with num_bits as an input has ranges of slices.
      if (axis_ >= 0) return InvalidArgument("input_min must be a scalar.");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < slices.count; ++i) {
      T min, max;
      const T* x = input.data<T>();
      if (range_given_) {
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
  Status CheckBits(int64_t bits) const {
    if (bits > 0 && bits < (signed_ ? 62 : 63)) return OkStatus();
    return InvalidArgument("num_bits is out of range: ", bits, " with signed_input_ ", int{signed_});
  }

  void Round(const nn::Slices& slices, int64_t slice, const T* x, T min, T max, int64_t bits, T* out) const {
    const T lowest = signed_ ? static_cast<T>(-(int64_t{1} << (bits - 1)) + (narrow_ ? 1 : 0)) : T(0);
    const T highest = static_cast<T>((int64_t{1} << (signed_ ? bits - 1 : bits)) - 1);
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
      const T level = (range_given_ ? std::max(std::min(x[k], max), min) : x[k]) * scale;
      out[k] = (half_up_ ? std::floor(level + T(0.5)) : std::rint(level)) * inverse;
    });
  }

  bool signed_ = true, range_given_ = false, narrow_ = false, half_up_ = false;
  int64_t axis_ = -1, bits_ = -1;
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
    if (gradient.shape() != input.shape()) return InvalidArgument("gradient and input must be the same size");
    WEIR_RETURN_IF_ERROR(CheckScalars(ctx, axis_, 2, " if axis is unspecified"));
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, nn::SlicesAlong(ctx, 1, axis_, 2));
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
