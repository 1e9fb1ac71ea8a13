// Cubic interpolation over four by four pixels, with weights from a table of 1024 steps as TensorFlow's.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"
#include "weir/ops/image/resize_geometry.h"

namespace weir {
namespace {

using ImageTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, BFloat16, Half, float, double>;

constexpr int64_t kSteps = 1024;

// The weights of the pixels at distance x and 1 + x, for every step of x.
using WeightTable = std::array<float, (kSteps + 1) * 2>;

WeightTable MakeTable(double a) {
  WeightTable table;
  for (int64_t i = 0; i <= kSteps; ++i) {
    auto x = static_cast<float>(static_cast<double>(i) / kSteps);
    table[i * 2] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
    x += 1.0f;
    table[i * 2 + 1] = static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  }
  return table;
}

struct Taps {
  std::array<int64_t, 4> index;
  std::array<float, 4> weight;
};

Taps MakeTaps(int64_t i, float scale, int64_t size, bool half_pixel_centers) {
  static const auto* legacy = new WeightTable(MakeTable(-0.75));
  static const auto* keys = new WeightTable(MakeTable(-0.5));
  const WeightTable& table = half_pixel_centers ? *keys : *legacy;
  const float place = SourcePlace(i, scale, half_pixel_centers);
  const float floor = std::floor(place);
  const auto first = static_cast<int64_t>(floor) - 1;
  const int64_t step = std::lrint((place - floor) * kSteps);
  Taps taps;
  taps.weight = {table[step * 2 + 1], table[step * 2], table[(kSteps - step) * 2], table[(kSteps - step) * 2 + 1]};
  for (int64_t k = 0; k < 4; ++k) {
    taps.index[k] = std::clamp<int64_t>(first + k, 0, size - 1);
    // Pixels outside have no weight there; the old way repeats the border.
    if (half_pixel_centers && taps.index[k] != first + k) taps.weight[k] = 0;
  }
  if (!half_pixel_centers) return taps;
  const float sum = taps.weight[0] + taps.weight[1] + taps.weight[2] + taps.weight[3];
  if (std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
    const float factor = 1.0f / sum;
    for (float& weight : taps.weight) weight *= factor;
  }
  return taps;
}

std::vector<Taps> AllTaps(int64_t out_size, int64_t in_size, float scale, bool half_pixel_centers) {
  std::vector<Taps> out;
  for (int64_t i = 0; i < out_size; ++i) out.push_back(MakeTaps(i, scale, in_size, half_pixel_centers));
  return out;
}

template <typename T>
float Interpolate(const T* picture, const Taps& row, const Taps& column, int64_t width, int64_t channels, int64_t c) {
  float out = 0;
  for (int i = 0; i < 4; ++i) {
    const T* line = picture + row.index[i] * width * channels + c;
    float value = 0;
    for (int j = 0; j < 4; ++j) value += column.weight[j] * static_cast<float>(line[column.index[j] * channels]);
    out += row.weight[i] * value;
  }
  return out;
}

class ResizeBicubicKernel : public ResizeKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadResizeGeometry(ctx, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.out_shape()));
    if (out->num_elements() == 0) return OkStatus();
    const auto rows = AllTaps(g.out_height, g.in_height, g.height_scale, placing.half_pixel_centers);
    const auto columns = AllTaps(g.out_width, g.in_width, g.width_scale, placing.half_pixel_centers);
    DispatchDType(image.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = image.data<T>();
      const int64_t out_row = g.out_width * g.channels;
      ctx.ParallelFor(g.batch * g.out_height, static_cast<double>(16 * out_row), [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          const T* picture = from + line / g.out_height * g.in_height * g.in_width * g.channels;
          float* to = out->data<float>() + line * out_row;
          for (const Taps& column : columns) {
            for (int64_t c = 0; c < g.channels; ++c) {
              *to++ = Interpolate(picture, rows[line % g.out_height], column, g.in_width, g.channels, c);
            }
          }
        }
      });
    });
    return OkStatus();
  }
};

class ResizeBicubicGradKernel : public ResizeKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor gradients = ctx.input(0);
    const Shape source = ctx.input(1).shape();
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadGradientGeometry(gradients.shape(), source, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(ctx.output_type(0), source));
    if (out.num_elements() == 0) {  // no picture, of whatever size
      ctx.set_output(0, std::move(out));
      return OkStatus();
    }
    const auto rows = AllTaps(g.out_height, g.in_height, g.height_scale, placing.half_pixel_centers);
    const auto columns = AllTaps(g.out_width, g.in_width, g.width_scale, placing.half_pixel_centers);
    const float* from = gradients.data<float>();
    DispatchDType(out.dtype(), TypeList<float, double>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t b = 0; b < g.batch; ++b) {
        T* picture = out.data<T>() + b * g.in_height * g.in_width * g.channels;
        for (const Taps& row : rows) {
          for (const Taps& column : columns) {
            for (int k = 0; k < 16; ++k) {
              const int i = k / 4, j = k % 4;
              T* pixel = picture + (row.index[i] * g.in_width + column.index[j]) * g.channels;
              for (int64_t c = 0; c < g.channels; ++c) {
                pixel[c] += static_cast<T>(from[c]) * row.weight[i] * column.weight[j];
              }
            }
            from += g.channels;
          }
        }
      }
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterResizeBicubicKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ResizeBicubic").Types("T", ImageTypes{}), MakeResizeKernel<ResizeBicubicKernel>);
  registry.Add(KernelBuilder("ResizeBicubicGrad").Types("T", TypeList<float, double>{}),
               MakeResizeKernel<ResizeBicubicGradKernel>);
}

}  // namespace weir
