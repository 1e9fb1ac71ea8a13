// ScaleAndTranslate: each pixel of the result is a weighted sum of a span of source pixels in either direction. The
// weights come from a filter that is widened when an image shrinks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"
#include "weir/ops/image/resize_geometry.h"

namespace weir {
namespace {

using ImageTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, BFloat16, Half, float, double>;

// A filter: its weight at a distance, 0 beyond its radius.
struct Filter {
  float radius;
  float (*weight)(float distance, float radius);
};

float Lanczos(float x, float radius) {
  constexpr float kPi = std::numbers::pi_v<float>;
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}
float Gaussian(float x, float radius) {
  if (x >= radius) return 0;
  const float sigma = radius / 3.0f;
  return std::exp(-x * x / (2.0f * sigma * sigma));
}
float Box(float x, float) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float Triangle(float x, float) { return x < 1.0f ? 1.0f - x : 0.0f; }
float KeysCubic(float x, float) {
  if (x >= 2.0f) return 0;
  return x >= 1.0f ? ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f : ((1.5f * x - 2.5f) * x) * x + 1.0f;
}
float MitchellCubic(float x, float) {
  if (x >= 2.0f) return 0;
  return x >= 1.0f ? (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f
                   : (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

StatusOr<Filter> FindFilter(std::string_view name) {
  if (name == "lanczos1") return Filter{1, Lanczos};
  if (name == "lanczos3") return Filter{3, Lanczos};
  if (name == "lanczos5") return Filter{5, Lanczos};
  if (name == "gaussian") return Filter{1.5f, Gaussian};
  if (name == "box") return Filter{1, Box};
  if (name == "triangle") return Filter{1, Triangle};
  if (name == "keyscubic") return Filter{2, KeysCubic};
  if (name == "mitchellcubic") return Filter{2, MitchellCubic};
  return InvalidArgument("Unrecognized kernel type: ", name);
}

// The source pixels of one result pixel; none if it lies outside the image.
struct Span {
  int64_t begin = 0;
  std::vector<float> weights;
};

std::vector<Span> MakeSpans(const Filter& filter, int64_t out_size, int64_t in_size, float scale, float translation,
                            bool antialias) {
  const float inverse = 1.0f / scale, shift = -inverse * translation;
  const float widening = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float reach = filter.radius * widening;
  std::vector<Span> spans(static_cast<size_t>(out_size));
  for (int64_t i = 0; i < out_size; ++i) {
    const float place = (static_cast<float>(i) + 0.5f) * inverse + shift;
    if (!(place >= 0 && place <= static_cast<float>(in_size))) continue;
    // Clamped before the conversion: a filter can reach farther than an integer.
    const auto last = static_cast<float>(in_size - 1);
    const auto begin = static_cast<int64_t>(std::clamp(std::ceil(place - reach - 0.5f), 0.0f, last));
    const auto end = static_cast<int64_t>(std::clamp(std::floor(place + reach - 0.5f), 0.0f, last)) + 1;
    Span& span = spans[i];
    span.begin = begin;
    float sum = 0;
    for (int64_t source = begin; source < end; ++source) {
      const float distance = std::abs((static_cast<float>(source) + 0.5f - place) * (1.0f / widening));
      span.weights.push_back(filter.weight(distance, filter.radius));
      sum += span.weights.back();
    }
    const bool usable = std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min();
    for (float& weight : span.weights) weight = usable ? weight * (1.0f / sum) : 0.0f;
  }
  return spans;
}

struct Placement {
  std::vector<Span> rows, columns;
};

class ScaleKernel : public Kernel {
 public:
  Status Init(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string name, init.Attr<std::string>("kernel_type"));
    WEIR_ASSIGN_OR_RETURN(filter_, FindFilter(name));
    WEIR_ASSIGN_OR_RETURN(antialias_, init.Attr<bool>("antialias"));
    return OkStatus();
  }

 protected:
  // Inputs 2 and 3 are scale and translation.
  StatusOr<Placement> Place(KernelContext& ctx, const ResizeGeometry& g) const {
    for (int i : {2, 3}) {
      if (ctx.input(i).shape().IsVector() && ctx.input(i).num_elements() == 2) continue;
      return InvalidArgument(i == 2 ? "scale" : "translation", " must be a vector of two elements, got ",
                             ctx.input(i).shape().ToString());
    }
    const float* scale = ctx.input(2).data<float>();
    const float* translation = ctx.input(3).data<float>();
    for (int i = 0; i < 2; ++i) {
      if (!(scale[i] > 0) || !std::isfinite(scale[i])) return InvalidArgument("scale must be greater than zero.");
    }
    if (g.batch == 0) return Placement{};  // no picture, of whatever size
    return Placement{MakeSpans(filter_, g.out_height, g.in_height, scale[0], translation[0], antialias_),
                     MakeSpans(filter_, g.out_width, g.in_width, scale[1], translation[1], antialias_)};
  }

 private:
  Filter filter_{};
  bool antialias_ = true;
};

class ScaleAndTranslateKernel : public ScaleKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ScaleAndTranslateKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadResizeGeometry(ctx, false));
    WEIR_ASSIGN_OR_RETURN(Placement placement, Place(ctx, g));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.out_shape()));
    if (out->num_elements() == 0) return OkStatus();
    // Rows first: an image [in_height, in_width] becomes [out_height, in_width], then [out_height, out_width].
    const int64_t in_row = g.in_width * g.channels, out_row = g.out_width * g.channels;
    DispatchDType(image.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double cost = static_cast<double>(8 * in_row + 8 * out_row);
      ctx.ParallelFor(g.batch * g.out_height, cost, [&](int64_t begin, int64_t end) {
        std::vector<float> line(static_cast<size_t>(in_row));
        for (int64_t i = begin; i < end; ++i) {
          const T* picture = image.data<T>() + i / g.out_height * g.in_height * in_row;
          SumRows(picture, placement.rows[i % g.out_height], in_row, line);
          SumColumns(line, placement.columns, g.channels, out->data<float>() + i * out_row);
        }
      });
    });
    return OkStatus();
  }

 private:
  template <typename T>
  static void SumRows(const T* picture, const Span& span, int64_t row, std::vector<float>& line) {
    std::fill(line.begin(), line.end(), 0.0f);
    for (size_t k = 0; k < span.weights.size(); ++k) {
      const T* from = picture + (span.begin + static_cast<int64_t>(k)) * row;
      for (int64_t i = 0; i < row; ++i) line[i] += span.weights[k] * static_cast<float>(from[i]);
    }
  }
  static void SumColumns(const std::vector<float>& line, const std::vector<Span>& spans, int64_t channels, float* out) {
    for (const Span& span : spans) {
      std::fill(out, out + channels, 0.0f);
      const float* from = line.data() + span.begin * channels;
      for (float weight : span.weights) {
        for (int64_t c = 0; c < channels; ++c) out[c] += weight * *from++;
      }
      out += channels;
    }
  }
};

// The transposed sums: each gradient goes back along the weights.
class ScaleAndTranslateGradKernel : public ScaleKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ScaleAndTranslateGradKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor gradients = ctx.input(0);
    const Shape source = ctx.input(1).shape();
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadGradientGeometry(gradients.shape(), source, false));
    WEIR_ASSIGN_OR_RETURN(Placement placement, Place(ctx, g));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(DType::kFloat, source));
    if (out.num_elements() == 0) {
      ctx.set_output(0, std::move(out));
      return OkStatus();
    }
    const int64_t in_row = g.in_width * g.channels, out_row = g.out_width * g.channels;
    std::vector<float> line(static_cast<size_t>(in_row));
    for (int64_t i = 0; i < g.batch * g.out_height; ++i) {
      std::fill(line.begin(), line.end(), 0.0f);
      const float* from = gradients.data<float>() + i * out_row;
      for (const Span& span : placement.columns) {
        float* to = line.data() + span.begin * g.channels;
        for (float weight : span.weights) {
          for (int64_t c = 0; c < g.channels; ++c) *to++ += weight * from[c];
        }
        from += g.channels;
      }
      float* picture = out.data<float>() + i / g.out_height * g.in_height * in_row;
      const Span& span = placement.rows[i % g.out_height];
      for (size_t k = 0; k < span.weights.size(); ++k) {
        float* row = picture + (span.begin + static_cast<int64_t>(k)) * in_row;
        for (int64_t x = 0; x < in_row; ++x) row[x] += span.weights[k] * line[x];
      }
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterScaleAndTranslateKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ScaleAndTranslate").Types("T", ImageTypes{}), MakeKernel<ScaleAndTranslateKernel>);
  registry.Add(KernelBuilder("ScaleAndTranslateGrad").Types("T", TypeList<float>{}),
               MakeKernel<ScaleAndTranslateGradKernel>);
}

}  // namespace weir
