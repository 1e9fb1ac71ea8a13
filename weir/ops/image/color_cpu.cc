// Colours: between red-green-blue and hue-saturation-value, and changes of contrast, hue and saturation.
#include <algorithm>
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/color.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

template <typename F>
struct Color {
  F a, b, c;
};

template <typename F>
Color<F> ToHsv(F r, F g, F b) {
  const F value = std::max({r, g, b}), range = value - std::min({r, g, b});
  const F saturation = value > 0 ? range / value : F(0);
  F hue = 0;
  if (range > 0) {
    const F norm = (F(1) / range) * (F(1) / F(6));
    hue = r == value ? norm * (g - b) : g == value ? norm * (b - r) + F(2) / F(6) : norm * (r - g) + F(4) / F(6);
    if (hue < 0) hue += 1;
  }
  return {hue, saturation, value};
}

template <typename F>
Color<F> ToRgb(F hue, F saturation, F value) {
  const F turn = hue * 6;
  const F red = std::clamp<F>(std::abs(turn - 3) - 1, 0, 1);
  const F green = std::clamp<F>(2 - std::abs(turn - 2), 0, 1);
  const F blue = std::clamp<F>(2 - std::abs(turn - 4), 0, 1);
  const F rest = 1 - saturation;
  return {(rest + saturation * red) * value, (rest + saturation * green) * value, (rest + saturation * blue) * value};
}

// Applies `change(a, b, c) -> Color` to every pixel.
template <typename T, typename Change>
Status ForEachPixel(KernelContext& ctx, const Change& change) {
  const Tensor image = ctx.input(0);
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.shape()));
  const T* from = image.data<T>();
  T* to = out->data<T>();
  ctx.ParallelFor(image.num_elements() / 3, 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
      const auto color = change(Widen(from[i]), Widen(from[i + 1]), Widen(from[i + 2]));
      to[i] = static_cast<T>(color.a);
      to[i + 1] = static_cast<T>(color.b);
      to[i + 2] = static_cast<T>(color.c);
    }
  });
  return OkStatus();
}

template <typename T, bool kToHsv>
class ConvertKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(CheckColors(ctx.input(0).shape(), 1));
    using F = ComputeType<T>;
    return ForEachPixel<T>(ctx, kToHsv ? ToHsv<F> : ToRgb<F>);
  }
};

StatusOr<float> ScalarInput(KernelContext& ctx, std::string_view name) {
  const Tensor& tensor = ctx.input(1);
  WEIR_RETURN_IF_ERROR(CheckScalar(tensor, name));
  return tensor.scalar<float>();
}

// A color of a sixth of the circle, by its components in order of size.
Color<float> InSixth(int sixth, float low, float between, float high) {
  switch (sixth) {
    case 0:
      return {high, between, low};
    case 1:
      return {between, high, low};
    case 2:
      return {low, high, between};
    case 3:
      return {low, between, high};
    case 4:
      return {between, low, high};
    default:
      return {high, low, between};
  }
}

template <typename T>
class AdjustHueKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(CheckColors(ctx.input(0).shape(), 3));
    WEIR_ASSIGN_OR_RETURN(float delta, ScalarInput(ctx, "delta"));
    return ForEachPixel<T>(ctx, [delta](float r, float g, float b) { return Turn(r, g, b, delta); });
  }

 private:
  // The lowest and highest values stay; which channels have them, and the one between, follow the hue. Every step is
  // rounded as TensorFlow rounds it: images of other types are converted to and from these floats.
  static Color<float> Turn(float r, float g, float b, float delta) {
    float low = r, middle = r, high = r;
    int sector = 0;
    if (r < g) {
      sector = b < r ? 1 : b > g ? 3 : 2;
    } else {
      sector = b < g ? 0 : b > r ? 4 : 5;
    }
    const float places[6][3] = {{b, g, r}, {b, r, g}, {r, b, g}, {r, g, b}, {g, r, b}, {g, b, r}};
    low = places[sector][0];
    middle = places[sector][1];
    high = places[sector][2];
    float hue = 0;
    if (low != high) {
      const float ratio = (middle - low) / (high - low);
      hue = static_cast<float>(sector) + (sector % 2 == 0 ? ratio : 1 - ratio);
    }
    hue = std::fmod(hue + delta * 6.0f, 6.0f);
    if (hue < 0) hue += 6.0f;
    if (hue >= 6.0f) hue -= 6.0f;
    const int to = hue >= 0 ? static_cast<int>(hue) : 5;  // NaN is in the last sixth
    const float part = hue - static_cast<float>(to);
    const float between = low + (to % 2 == 0 ? part : 1 - part) * (high - low);
    return InSixth(to, low, between, high);
  }
};

template <typename T>
class AdjustSaturationKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(CheckColors(ctx.input(0).shape(), 3));
    WEIR_ASSIGN_OR_RETURN(float scale, ScalarInput(ctx, "scale"));
    return ForEachPixel<T>(ctx, [scale](float r, float g, float b) {
      const float value = std::max({r, g, b}), range = value - std::min({r, g, b});
      const float saturation = value > 0 ? range / value : 0;
      return ByChroma(Hue(r, g, b, value, range), std::min(1.0f, std::max(0.0f, saturation * scale)), value);
    });
  }

 private:
  // There and back by other roundings than those of ToHsv and ToRgb; the parts of the circle are added in double.
  static float Hue(float r, float g, float b, float value, float range) {
    if (!(range > 0)) return 0;
    const float norm = 1.0f / (6.0f * range);
    float hue = norm * (g - b);
    if (r != value) hue = static_cast<float>(g == value ? norm * (b - r) + 2.0 / 6.0 : norm * (r - g) + 4.0 / 6.0);
    return hue < 0 ? hue + 1 : hue;
  }
  static Color<float> ByChroma(float hue, float saturation, float value) {
    const float chroma = saturation * value, rest = value - chroma;
    const float turn = hue * 6;
    if (!(turn >= 0 && turn < 6)) return {0 + rest, 0 + rest, 0 + rest};  // no number, or too small a range of colours
    float pair = turn;
    while (pair <= 0) pair += 2.0f;
    while (pair >= 2) pair -= 2.0f;
    const float between = chroma * (1 - std::abs(pair - 1)) + rest, high = chroma + rest, low = 0 + rest;
    return InSixth(static_cast<int>(turn), low, between, high);
  }
};

template <typename T>
class AdjustContrastKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    const int rank = image.rank();
    if (rank < 3) return InvalidArgument("input must be at least 3-D, got shape", image.shape().ToString());
    WEIR_ASSIGN_OR_RETURN(float factor, ScalarInput(ctx, "contrast_factor"));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.shape()));
    if (out->num_elements() == 0) return OkStatus();
    const int64_t channels = image.dim(rank - 1), pixels = image.dim(rank - 2) * image.dim(rank - 3);
    const int64_t images = image.num_elements() / (channels * pixels);
    ctx.ParallelFor(images, static_cast<double>(3 * pixels * channels), [&](int64_t begin, int64_t end) {
      std::vector<float> sums(static_cast<size_t>(pixels * channels));
      for (int64_t i = begin; i < end; ++i) {
        const T* from = image.data<T>() + i * pixels * channels;
        T* to = out->data<T>() + i * pixels * channels;
        for (int64_t k = 0; k < pixels * channels; ++k) sums[k] = static_cast<float>(from[k]);
        // The second half is added to the first until one pixel is left, as TensorFlow sums: bits depend on it.
        for (int64_t left = pixels; left > 1; left -= left / 2) {
          const int64_t half = left / 2 * channels, second = left * channels - half;
          for (int64_t k = 0; k < half; ++k) sums[k] += sums[second + k];
        }
        const float factor_of_sum = 1.0f / static_cast<float>(pixels);
        for (int64_t c = 0; c < channels; ++c) sums[c] *= factor_of_sum;
        for (int64_t k = 0; k < pixels * channels; ++k) {
          const float mean = sums[k % channels];
          to[k] = static_cast<T>((static_cast<float>(from[k]) - mean) * factor + mean);
        }
      }
    });
    return OkStatus();
  }
};

template <typename T>
void RegisterConversions(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RGBToHSV").Types("T", TypeList<T>{}), MakeKernel<ConvertKernel<T, true>>);
  registry.Add(KernelBuilder("HSVToRGB").Types("T", TypeList<T>{}), MakeKernel<ConvertKernel<T, false>>);
}

template <typename T>
void RegisterAdjustments(KernelRegistry& registry) {
  registry.Add(KernelBuilder("AdjustHue").Types("T", TypeList<T>{}), MakeKernel<AdjustHueKernel<T>>);
  registry.Add(KernelBuilder("AdjustSaturation").Types("T", TypeList<T>{}), MakeKernel<AdjustSaturationKernel<T>>);
  registry.Add(KernelBuilder("AdjustContrastv2").Types("T", TypeList<T>{}), MakeKernel<AdjustContrastKernel<T>>);
}

}  // namespace

Status CheckColors(const Shape& shape, int min_rank) {
  if (shape.rank() < min_rank) {
    return InvalidArgument("input must be at least ", min_rank, min_rank == 1 ? "D" : "-D, got shape",
                           shape.ToString());
  }
  const int64_t channels = shape.dim(shape.rank() - 1);
  if (channels == 3) return OkStatus();
  const std::string message = Cat("input must have 3 channels but instead has ", channels, " channels.");
  return min_rank == 1 ? FailedPrecondition(message) : InvalidArgument(message);
}

Status CheckScalar(const Tensor& tensor, std::string_view name) {
  if (tensor.shape().IsScalar()) return OkStatus();
  return InvalidArgument(name, " must be scalar: ", tensor.shape().ToString());
}

void RegisterColorKernels(KernelRegistry& registry) {
  RegisterConversions<Half>(registry);
  RegisterConversions<BFloat16>(registry);
  RegisterConversions<float>(registry);
  RegisterConversions<double>(registry);
  RegisterAdjustments<Half>(registry);
  RegisterAdjustments<float>(registry);
}

}  // namespace weir
