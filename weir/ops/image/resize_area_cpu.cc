// Every pixel of the result is the mean of the part of the source that it covers.
#include <algorithm>
#include <cmath>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"
#include "weir/ops/image/resize_geometry.h"

namespace weir {
namespace {

using ImageTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, BFloat16, Half, float, double>;

// How much of each source pixel [begin, end) is covered.
struct Cover {
  int64_t begin = 0, end = 0;
  float from = 0, to = 0;  // the covered range
  float scale = 1;
  float Weight(int64_t i) const {
    const auto low = static_cast<float>(i), high = static_cast<float>(i + 1);
    if (low < from) return high > to ? scale : high - from;
    return high > to ? to - low : 1.0f;
  }
};

std::vector<Cover> Covers(int64_t out_size, float scale) {
  std::vector<Cover> out;
  for (int64_t i = 0; i < out_size; ++i) {
    const float from = static_cast<float>(i) * scale, to = static_cast<float>(i + 1) * scale;
    out.push_back({.begin = static_cast<int64_t>(std::floor(from)),
                   .end = static_cast<int64_t>(std::ceil(to)),
                   .from = from,
                   .to = to,
                   .scale = scale});
  }
  return out;
}

template <typename T>
void AddPatch(const T* picture, const ResizeGeometry& g, const Cover& row, const Cover& column, float* sums) {
  for (int64_t y = row.begin; y < row.end; ++y) {
    const float y_weight = row.Weight(y);
    const T* line = picture + std::clamp<int64_t>(y, 0, g.in_height - 1) * g.in_width * g.channels;
    for (int64_t x = column.begin; x < column.end; ++x) {
      const float weight = y_weight * column.Weight(x);
      const T* pixel = line + std::clamp<int64_t>(x, 0, g.in_width - 1) * g.channels;
      for (int64_t c = 0; c < g.channels; ++c) sums[c] += static_cast<float>(pixel[c]) * weight;
    }
  }
}

class ResizeAreaKernel : public ResizeKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadResizeGeometry(ctx, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.out_shape()));
    if (out->num_elements() == 0) return OkStatus();
    const std::vector<Cover> rows = Covers(g.out_height, g.height_scale), columns = Covers(g.out_width, g.width_scale);
    const float factor = 1.0f / (g.height_scale * g.width_scale);
    DispatchDType(image.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = image.data<T>();
      const int64_t out_row = g.out_width * g.channels, in_picture = g.in_height * g.in_width * g.channels;
      const double cost = 2.0 * static_cast<double>(g.in_width * g.channels) * (g.height_scale + 1);
      ctx.ParallelFor(g.batch * g.out_height, cost, [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          float* to = out->data<float>() + line * out_row;
          std::fill(to, to + out_row, 0.0f);
          for (int64_t x = 0; x < g.out_width; ++x, to += g.channels) {
            AddPatch(from + line / g.out_height * in_picture, g, rows[line % g.out_height], columns[x], to);
            for (int64_t c = 0; c < g.channels; ++c) to[c] *= factor;
          }
        }
      });
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterResizeAreaKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ResizeArea").Types("T", ImageTypes{}), MakeResizeKernel<ResizeAreaKernel>);
}

}  // namespace weir
