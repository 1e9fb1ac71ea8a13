// QuantizeV2, Dequantize and QuantizeDownAndShrinkRange.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weir/ops/nn/register_extended.h"
#include "weir/ops/nn/slices.h"

namespace weir {
namespace {

template <typename Q>
using Number = decltype(Q::value);
template <typename Q>
double Lowest() {
  return static_cast<double>(std::numeric_limits<Number<Q>>::lowest());
}
template <typename Q>
double Highest() {
  return static_cast<double>(std::numeric_limits<Number<Q>>::max());
}
template <typename Q>
constexpr bool kIsSigned = std::is_signed_v<Number<Q>>;

// Values of the type that stand evenly over [min, max], the first at min: the mode MIN_FIRST.
template <typename Q>
struct EvenSteps {
  float scale, first;  // of a step as a float; of min in steps

  EvenSteps(float min, float max) {
    const double steps = Highest<Q>() - Lowest<Q>() + 1;
    const double range = (static_cast<double>(max) - min) * (steps / (steps - 1));
    scale = static_cast<float>(range / steps);
    inverse_ = static_cast<float>(steps / range);
    first = std::round(min * inverse_);
    min_ = min;
    is_point_ = min == max;
  }
  float ToFloat(Q x) const {
    if (is_point_) return min_;
    const float origin = std::round(min_ / scale) * scale;
    return origin + static_cast<float>((static_cast<double>(x.value) - Lowest<Q>()) * scale);
  }
  Q FromFloat(float x) const {
    if (is_point_) return Q{0};
    const float step = std::is_same_v<Q, QUInt8> ? std::rint(x * inverse_) : std::round(x * inverse_);
    const float value = step - static_cast<float>(first - Lowest<Q>());
    // The largest float that the type holds.
    float highest = static_cast<float>(Highest<Q>());
    if (static_cast<double>(highest) > Highest<Q>()) highest = std::nextafter(highest, 0.0f);
    if (std::isnan(value)) return Q{0};
    return Q{static_cast<Number<Q>>(std::min(std::max(value, static_cast<float>(Lowest<Q>())), highest))};
  }

 private:
  float inverse_, min_;
  bool is_point_;
};

enum class Mode { kMinCombined, kMinFirst, kScaled };

StatusOr<Mode> ReadMode(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("mode"));
  return mode == "MIN_COMBINED" ? Mode::kMinCombined : mode == "MIN_FIRST" ? Mode::kMinFirst : Mode::kScaled;
}

class QuantizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<QuantizeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->mode_, ReadMode(init));
    WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("mode"));
    WEIR_ASSIGN_OR_RETURN(std::string rounding, init.Attr<std::string>("round_mode"));
    kernel->half_to_even_ = rounding == "HALF_TO_EVEN";
    if (kernel->half_to_even_ && kernel->mode_ != Mode::kScaled) {
      return InvalidArgument("Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '", mode, "'.");
    }
    WEIR_ASSIGN_OR_RETURN(kernel->narrow_, init.Attr<bool>("narrow_range"));
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    WEIR_ASSIGN_OR_RETURN(kernel->least_range_, init.Attr<float>("ensure_minimum_range"));
    if (kernel->axis_ < -1) return InvalidArgument("Axis must be at least -1. Found ", kernel->axis_);
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, nn::SlicesAlong(ctx, 0, axis_, 1));
    if (slices.count > 1 && mode_ == Mode::kMinFirst) {
      return Unimplemented("MIN_FIRST mode is not implemented for Quantize with axis != -1.");
    }
    const Shape ranges = slices.count == 1 ? Shape() : Shape({slices.count});
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out_min, ctx.AllocateOutput(1, ranges));
    WEIR_ASSIGN_OR_RETURN(Tensor * out_max, ctx.AllocateOutput(2, ranges));
    Status status;
    DispatchDType(out->dtype(), QuantizedTypes{}, [&](auto tag) {
      using Q = typename decltype(tag)::type;
      for (int64_t i = 0; i < slices.count && status.ok(); ++i) {
        float &min = out_min->data<float>()[i], &max = out_max->data<float>()[i];
        min = ctx.input(1).data<float>()[i];
        max = ctx.input(2).data<float>()[i];
        status = AdjustRange(min, max);
        if (status.ok()) Quantize(slices, i, input.data<float>(), min, max, out->data<Q>());
      }
    });
    return status;
  }

 private:
  // Zero is inside, and the range has a size.
  Status AdjustRange(float& min, float& max) const {
    if (max < min) return InvalidArgument("input_max_range must be larger than input_min_range.");
    const float epsilon = std::max(1.0f, std::max(std::fabs(min), std::fabs(max))) * least_range_;
    const float low = std::min(0.0f, min);
    max = std::max(0.0f, std::max(max, low + epsilon));
    min = low;
    return OkStatus();
  }

  template <typename Q>
  void Quantize(const nn::Slices& slices, int64_t slice, const float* x, float& min, float& max, Q* out) const {
    if (mode_ == Mode::kMinFirst) {
      const EvenSteps<Q> steps(min, max);
      slices.For(slice, [&](int64_t i) { out[i] = steps.FromFloat(x[i]); });
    } else if (mode_ == Mode::kMinCombined) {
      const float scale = static_cast<float>((Highest<Q>() - Lowest<Q>()) / (static_cast<double>(max) - min));
      const float half = kIsSigned<Q> ? static_cast<float>((Highest<Q>() - Lowest<Q>() + 1) / 2) : 0.0f;
      slices.For(slice, [&, min = min, max = max](int64_t i) {
        const float shifted = (std::max(std::min(x[i], max), min) - min) * scale;
        const float level = kIsSigned<Q> ? std::round(shifted - half) : shifted + 0.5f;
        // Above the largest float of a 32-bit type it wraps.
        out[i] = Q{static_cast<Number<Q>>(std::isnan(level) ? 0 : static_cast<int64_t>(level))};
      });
    } else {
      Scaled<Q>(slices, slice, x, min, max, out);
    }
  }

  template <typename Q>
  void Scaled(const nn::Slices& slices, int64_t slice, const float* x, float& min, float& max, Q* out) const {
    const float lowest = static_cast<float>(Lowest<Q>() + (narrow_ ? 1 : 0)),
                highest = static_cast<float>(Highest<Q>());
    constexpr float kMax = std::numeric_limits<float>::max();
    const float by_min = lowest * min > 0 ? lowest / min : kMax, by_max = highest * max > 0 ? highest / max : kMax;
    const float scale = std::min(by_min, by_max);
    min = lowest / scale;
    max = highest / scale;
    slices.For(slice, [&, min = min, max = max](int64_t i) {
      const float level = std::max(std::min(x[i], max), min) * scale;
      const float rounded = half_to_even_ ? std::rint(level) : std::round(level);
      out[i] = Q{static_cast<Number<Q>>(std::isnan(rounded) ? 0 : static_cast<int64_t>(rounded))};
    });
  }

  Mode mode_ = Mode::kMinCombined;
  bool half_to_even_ = false, narrow_ = false;
  int64_t axis_ = -1;
  float least_range_ = 0;
};

class DequantizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DequantizeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->mode_, ReadMode(init));
    WEIR_ASSIGN_OR_RETURN(kernel->narrow_, init.Attr<bool>("narrow_range"));
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    if (kernel->axis_ < -1) return InvalidArgument("Axis must be at least -1. Found ", kernel->axis_);
    if (kernel->axis_ >= 0 && kernel->mode_ == Mode::kMinFirst) {
      return Unimplemented("MIN_FIRST mode is not implemented for Dequantize with axis != -1.");
    }
    WEIR_ASSIGN_OR_RETURN(DType to, init.Attr<DType>("dtype"));
    if (to == DType::kBFloat16 && kernel->mode_ != Mode::kMinCombined) {
      WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("mode"));
      return InvalidArgument("When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '", mode, "'");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, nn::SlicesAlong(ctx, 0, axis_, 1));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    std::vector<float> values(static_cast<size_t>(input.num_elements()));
    DispatchDType(input.dtype(), QuantizedTypes{}, [&](auto tag) {
      using Q = typename decltype(tag)::type;
      for (int64_t i = 0; i < slices.count; ++i) {
        Dequantize(slices, i, input.data<Q>(), ctx.input(1).data<float>()[i], ctx.input(2).data<float>()[i],
                   values.data());
      }
    });
    if (out->dtype() == DType::kFloat) {
      std::ranges::copy(values, out->data<float>());
    } else {
      std::ranges::transform(values, out->data<BFloat16>(), [](float x) { return BFloat16(x); });
    }
    return OkStatus();
  }

 private:
  template <typename Q>
  void Dequantize(const nn::Slices& slices, int64_t slice, const Q* x, float min, float max, float* out) const {
    if (mode_ == Mode::kMinFirst) {
      const EvenSteps<Q> steps(min, max);
      slices.For(slice, [&](int64_t i) { out[i] = steps.ToFloat(x[i]); });
    } else if (mode_ == Mode::kMinCombined) {
      const float scale = static_cast<float>((static_cast<double>(max) - min) / (Highest<Q>() - Lowest<Q>()));
      const float half = kIsSigned<Q> ? static_cast<float>((Highest<Q>() - Lowest<Q>() + 1) / 2) : 0.0f;
      slices.For(slice, [&](int64_t i) { out[i] = (static_cast<float>(x[i].value) + half) * scale + min; });
    } else {
      const double lowest = Lowest<Q>() + (narrow_ ? 1 : 0);
      const float by_max = static_cast<float>(max / Highest<Q>());
      const float scale = kIsSigned<Q> ? std::max(static_cast<float>(min / lowest), by_max) : by_max;
      slices.For(slice, [&](int64_t i) { out[i] = static_cast<float>(x[i].value) * scale; });
    }
  }

  Mode mode_ = Mode::kMinCombined;
  bool narrow_ = false;
  int64_t axis_ = -1;
};

// A 32-bit level of a range as a float; its steps are not rounded to floats.
float ToFloat(QInt32 x, float min, float max) {
  if (min == max) return min;
  const double steps = Highest<QInt32>() - Lowest<QInt32>() + 1;
  const double step = static_cast<double>(max - min) * (steps / (steps - 1)) / steps;
  const float rounded_step = static_cast<float>(step);
  const double origin = std::round(min / rounded_step) * rounded_step;
  return static_cast<float>(origin + (static_cast<double>(x.value) - Lowest<QInt32>()) * step);
}

// From 32-bit levels over one range to bytes over another, in whole numbers of 1/65536 of a byte's level, as TensorFlow
// rounds them.
class ByteLevels {
 public:
  ByteLevels(float min, float max, float low, float high) {
    const float range = high - low;
    if (range == 0) return;
    const float one = 1 << kBits, middle = static_cast<float>((min + max) / 2.0),
                level = static_cast<float>(255.0 / range);
    scale_ = Whole(255.0 * one * (max - min) / range);
    middle_ = Whole(middle * level * one);
    low_ = Whole(one * (low * 255.0) / range);
  }
  QUInt8 Of(QInt32 x) const {
    // Ranges that make no sense may lead beyond 64 bits.
    const auto scaled = static_cast<int64_t>(static_cast<uint64_t>(x.value) * static_cast<uint64_t>(scale_));
    const int64_t place = (scaled >> 32) + middle_ - low_;
    const int64_t level = (place + (1 << (kBits - 1))) >> kBits;
    return QUInt8{static_cast<uint8_t>(std::clamp<int64_t>(level, 0, 255))};
  }

 private:
  static constexpr int kBits = 16;
  static int64_t Whole(double value) {
    constexpr double kMost = 1e18;
    return std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -kMost, kMost));
  }
  int64_t scale_ = 0, middle_ = 0, low_ = 0;
};

// The range is taken from the values that are there.
class ShrinkRangeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    for (int i = 1; i < 3; ++i) {
      if (ctx.input(i).rank() != 0) {
        return InvalidArgument("`", ctx.node().schema->inputs[i].name, "` must be rank 0 but is rank ",
                               ctx.input(i).rank());
      }
    }
    const float min = ctx.input(1).data<float>()[0], max = ctx.input(2).data<float>()[0];
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    QInt32 lowest{std::numeric_limits<int32_t>::max()}, highest{std::numeric_limits<int32_t>::lowest()};
    for (QInt32 x : input.span<QInt32>()) {
      lowest.value = std::min(lowest.value, x.value);
      highest.value = std::max(highest.value, x.value);
    }
    const float low = std::min(0.0f, ToFloat(lowest, min, max)), high = ToFloat(highest, min, max);
    const ByteLevels to(min, max, low, high);
    for (int64_t i = 0; i < input.num_elements(); ++i) out->data<QUInt8>()[i] = to.Of(input.data<QInt32>()[i]);
    ctx.set_output(1, Tensor::Scalar(low));
    ctx.set_output(2, Tensor::Scalar(high));
    return OkStatus();
  }
};

}  // namespace

void RegisterQuantizeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("QuantizeV2").Types("T", QuantizedTypes{}), MakeKernel<QuantizeKernel>);
  registry.Add(KernelBuilder("Dequantize").Types("T", QuantizedTypes{}).Types("dtype", TypeList<float, BFloat16>{}),
               MakeKernel<DequantizeKernel>);
  registry.Add(KernelBuilder("QuantizeDownAndShrinkRange")
                   .Types("Tinput", TypeList<QInt32>{})
                   .Types("out_type", TypeList<QUInt8>{}),
               MakeKernel<ShrinkRangeKernel>);
}

}  // namespace weir
