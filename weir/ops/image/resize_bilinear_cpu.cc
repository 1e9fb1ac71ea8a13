#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"
#include "weir/ops/image/resize_geometry.h"

namespace weir {
namespace {

using ImageTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, BFloat16, Half, float, double>;

template <typename T>
void ResizeRow(const T* top, const T* bottom, const std::vector<Between>& columns, float y_lerp, int64_t channels,
               float* out) {
  for (const Between& column : columns) {
    const int64_t left = column.lower * channels, right = column.upper * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const auto top_left = static_cast<float>(top[left + c]), top_right = static_cast<float>(top[right + c]);
      const auto low_left = static_cast<float>(bottom[left + c]), low_right = static_cast<float>(bottom[right + c]);
      const float upper = top_left + (top_right - top_left) * column.lerp;
      const float lower = low_left + (low_right - low_left) * column.lerp;
      *out++ = upper + (lower - upper) * y_lerp;
    }
  }
}

class ResizeBilinearKernel : public ResizeKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadResizeGeometry(ctx, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.out_shape()));
    if (out->num_elements() == 0) return OkStatus();
    const auto rows = PlacesBetween(g.out_height, g.in_height, g.height_scale, placing.half_pixel_centers);
    const auto columns = PlacesBetween(g.out_width, g.in_width, g.width_scale, placing.half_pixel_centers);
    float* to = out->data<float>();
    DispatchDType(image.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = image.data<T>();
      const int64_t in_row = g.in_width * g.channels, out_row = g.out_width * g.channels;
      ctx.ParallelFor(g.batch * g.out_height, static_cast<double>(2 * out_row), [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          const T* picture = from + line / g.out_height * g.in_height * in_row;
          const Between& row = rows[line % g.out_height];
          ResizeRow(picture + row.lower * in_row, picture + row.upper * in_row, columns, row.lerp, g.channels,
                    to + line * out_row);
        }
      });
    });
    return OkStatus();
  }
};

class ResizeBilinearGradKernel : public ResizeKernel {
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
    const auto rows = PlacesBetween(g.out_height, g.in_height, g.height_scale, placing.half_pixel_centers);
    const auto columns = PlacesBetween(g.out_width, g.in_width, g.width_scale, placing.half_pixel_centers);
    DispatchDType(out.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(g.batch, static_cast<double>(8 * g.out_height * g.out_width * g.channels),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t b = begin; b < end; ++b) Spread(g, rows, columns, gradients, b, out.data<T>());
                      });
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  // Gives each gradient to the four pixels it came from.
  template <typename T>
  static void Spread(const ResizeGeometry& g, const std::vector<Between>& rows, const std::vector<Between>& columns,
                     const Tensor& gradients, int64_t b, T* out) {
    const float* from = gradients.data<float>() + b * g.out_height * g.out_width * g.channels;
    T* picture = out + b * g.in_height * g.in_width * g.channels;
    for (const Between& row : rows) {
      for (const Between& column : columns) {
        auto add = [&](int64_t y, int64_t x, float y_weight, float x_weight) {
          T* pixel = picture + (y * g.in_width + x) * g.channels;
          for (int64_t c = 0; c < g.channels; ++c) {
            pixel[c] = static_cast<T>(Widen(pixel[c]) + Widen(static_cast<T>(from[c] * y_weight * x_weight)));
          }
        };
        add(row.lower, column.lower, 1 - row.lerp, 1 - column.lerp);
        add(row.lower, column.upper, 1 - row.lerp, column.lerp);
        add(row.upper, column.lower, row.lerp, 1 - column.lerp);
        add(row.upper, column.upper, row.lerp, column.lerp);
        from += g.channels;
      }
    }
  }
};

}  // namespace

void RegisterResizeBilinearKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ResizeBilinear").Types("T", ImageTypes{}), MakeResizeKernel<ResizeBilinearKernel>);
  registry.Add(KernelBuilder("ResizeBilinearGrad").Types("T", FloatTypes{}),
               MakeResizeKernel<ResizeBilinearGradKernel>);
}

}  // namespace weir
