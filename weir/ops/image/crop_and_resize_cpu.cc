// CropAndResize and its gradients: boxes in coordinates from 0 to 1, sampled on a grid.
#include <algorithm>
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/crop_geometry.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

using ImageTypes = TypeList<uint8_t, uint16_t, int8_t, int16_t, int32_t, int64_t, Half, float, double>;

Status CheckIndices(const Tensor& indices, int64_t batch) {
  for (int32_t index : indices.span<int32_t>()) {
    if (index < 0 || index >= batch) return BadBoxIndex();
  }
  return OkStatus();
}

// The grid of one dimension of a box.
struct Grid {
  Grid(float low, float high, int64_t samples, int64_t size)
      : low(low), high(high), samples(samples), last(static_cast<float>(size - 1)) {
    step = samples > 1 ? (high - low) * last / static_cast<float>(samples - 1) : 0;
  }
  // Where sample `i` is; false if that is outside the image.
  bool Place(int64_t i, float* place) const {
    *place = samples > 1 ? low * last + static_cast<float>(i) * step : 0.5f * (low + high) * last;
    return *place >= 0 && *place <= last;
  }
  float low, high;
  int64_t samples;
  float last;
  float step;
};

struct Corners {
  Corners(float place)
      : lower(static_cast<int64_t>(std::floor(place))),
        upper(static_cast<int64_t>(std::ceil(place))),
        lerp(place - std::floor(place)) {}
  int64_t lower, upper;
  float lerp;
};

struct ImageSize {
  int64_t height, width, channels;
};

template <typename T>
class CropSampler {
 public:
  CropSampler(const T* picture, ImageSize size, bool nearest) : picture_(picture), size_(size), nearest_(nearest) {}
  void Sample(float y, float x, float* out) const {
    if (nearest_) {
      const T* pixel = At(static_cast<int64_t>(std::round(y)), static_cast<int64_t>(std::round(x)));
      for (int64_t c = 0; c < size_.channels; ++c) out[c] = static_cast<float>(pixel[c]);
      return;
    }
    const Corners row(y), column(x);
    const T* top_left = At(row.lower, column.lower);
    const T* top_right = At(row.lower, column.upper);
    const T* low_left = At(row.upper, column.lower);
    const T* low_right = At(row.upper, column.upper);
    for (int64_t c = 0; c < size_.channels; ++c) {
      const auto tl = static_cast<float>(top_left[c]), tr = static_cast<float>(top_right[c]);
      const auto ll = static_cast<float>(low_left[c]), lr = static_cast<float>(low_right[c]);
      const float top = tl + (tr - tl) * column.lerp, low = ll + (lr - ll) * column.lerp;
      out[c] = top + (low - top) * row.lerp;
    }
  }

 private:
  const T* At(int64_t y, int64_t x) const { return picture_ + (y * size_.width + x) * size_.channels; }
  const T* picture_;
  const ImageSize size_;
  const bool nearest_;
};

class CropAndResizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CropAndResizeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->nearest_, ReadIsNearest(init));
    WEIR_ASSIGN_OR_RETURN(kernel->outside_, init.Attr<float>("extrapolation_value"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0), boxes = ctx.input(1), indices = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(Shape shape, CropShape(ctx));
    WEIR_RETURN_IF_ERROR(CheckIndices(indices, image.dim(0)));
    const ImageSize size{image.dim(1), image.dim(2), image.dim(3)};
    const int64_t count = shape.dim(0), height = shape.dim(1), width = shape.dim(2);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(image.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double cost = static_cast<double>(4 * height * width * size.channels + 100);
      ctx.ParallelFor(count, cost, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const T* picture = image.data<T>() + indices.data<int32_t>()[b] * size.height * size.width * size.channels;
          Crop(CropSampler<T>(picture, size, nearest_), boxes.data<float>() + 4 * b, size, height, width,
               out->data<float>() + b * height * width * size.channels);
        }
      });
    });
    return OkStatus();
  }

 private:
  template <typename Sampler>
  void Crop(const Sampler& sampler, const float* box, ImageSize size, int64_t height, int64_t width, float* out) const {
    const Grid rows(box[0], box[2], height, size.height), columns(box[1], box[3], width, size.width);
    for (int64_t i = 0; i < height; ++i) {
      float y = 0, x = 0;
      const bool inside = rows.Place(i, &y);
      for (int64_t j = 0; j < width; ++j, out += size.channels) {
        if (inside && columns.Place(j, &x)) {
          sampler.Sample(y, x, out);
        } else {
          std::fill(out, out + size.channels, outside_);
        }
      }
    }
  }

  bool nearest_ = false;
  float outside_ = 0;
};

class CropGradImageKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CropGradImageKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->nearest_, ReadIsNearest(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor grads = ctx.input(0), boxes = ctx.input(1), indices = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(Shape shape, CropSourceShape(ctx));
    WEIR_RETURN_IF_ERROR(CheckIndices(indices, shape.dim(0)));
    const ImageSize size{shape.dim(1), shape.dim(2), shape.dim(3)};
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(ctx.output_type(0), shape));
    DispatchDType(out.dtype(), TypeList<Half, float, double>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t b = 0; b < grads.dim(0); ++b) {
        AddBox(grads, b, boxes.data<float>() + 4 * b, size,
               out.data<T>() + indices.data<int32_t>()[b] * size.height * size.width * size.channels);
      }
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  template <typename T>
  void AddBox(const Tensor& grads, int64_t b, const float* box, ImageSize size, T* picture) const {
    const int64_t height = grads.dim(1), width = grads.dim(2);
    const float* from = grads.data<float>() + b * height * width * size.channels;
    const Grid rows(box[0], box[2], height, size.height), columns(box[1], box[3], width, size.width);
    // Products are rounded to a float one by one, also where the sums are doubles.
    auto add = [&](int64_t y, int64_t x, float row_weight, float column_weight) {
      T* pixel = picture + (y * size.width + x) * size.channels;
      for (int64_t c = 0; c < size.channels; ++c) {
        const float part = column_weight * (row_weight * from[c]);
        pixel[c] = static_cast<T>(Widen(pixel[c]) + static_cast<ComputeType<T>>(part));
      }
    };
    for (int64_t i = 0; i < height; ++i) {
      float y = 0, x = 0;
      const bool inside = rows.Place(i, &y);
      for (int64_t j = 0; j < width; ++j, from += size.channels) {
        if (!inside || !columns.Place(j, &x)) continue;
        if (nearest_) {
          add(static_cast<int64_t>(std::round(y)), static_cast<int64_t>(std::round(x)), 1, 1);
          continue;
        }
        const Corners row(y), column(x);
        add(row.lower, column.lower, 1 - row.lerp, 1 - column.lerp);
        add(row.lower, column.upper, 1 - row.lerp, column.lerp);
        add(row.upper, column.lower, row.lerp, 1 - column.lerp);
        add(row.upper, column.upper, row.lerp, column.lerp);
      }
    }
  }

  bool nearest_ = false;
};

class CropGradBoxesKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor grads = ctx.input(0), image = ctx.input(1), boxes = ctx.input(2), indices = ctx.input(3);
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckCropGradBoxes(ctx));
    WEIR_RETURN_IF_ERROR(CheckIndices(indices, image.dim(0)));
    const ImageSize size{image.dim(1), image.dim(2), image.dim(3)};
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(DType::kFloat, Shape({count, 4})));
    DispatchDType(image.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t b = 0; b < count; ++b) {
        const T* picture = image.data<T>() + indices.data<int32_t>()[b] * size.height * size.width * size.channels;
        AddBox(grads, b, boxes.data<float>() + 4 * b, size, picture, out.data<float>() + 4 * b);
      }
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  // What a move of the low and of the high end of a box does to sample `i`.
  static void AddEnds(float slope, const Grid& grid, int64_t i, float* low, float* high) {
    const float ratio = grid.samples > 1 ? grid.last / static_cast<float>(grid.samples - 1) : 0;
    const float share = grid.samples > 1 ? static_cast<float>(i) * ratio : 0.5f * grid.last;
    *low += slope * (grid.last - share);
    *high += slope * share;
  }

  template <typename T>
  static void AddBox(const Tensor& grads, int64_t b, const float* box, ImageSize size, const T* picture, float* out) {
    const int64_t height = grads.dim(1), width = grads.dim(2);
    const float* from = grads.data<float>() + b * height * width * size.channels;
    const Grid rows(box[0], box[2], height, size.height), columns(box[1], box[3], width, size.width);
    for (int64_t i = 0; i < height; ++i) {
      float y = 0, x = 0;
      const bool inside = rows.Place(i, &y);
      for (int64_t j = 0; j < width; ++j, from += size.channels) {
        if (!inside || !columns.Place(j, &x)) continue;
        const Corners row(y), column(x);
        auto at = [&](int64_t r, int64_t k, int64_t c) {
          return static_cast<float>(picture[(r * size.width + k) * size.channels + c]);
        };
        for (int64_t c = 0; c < size.channels; ++c) {
          const float tl = at(row.lower, column.lower, c), tr = at(row.lower, column.upper, c);
          const float ll = at(row.upper, column.lower, c), lr = at(row.upper, column.upper, c);
          const float y_slope = (1 - column.lerp) * (ll - tl) + column.lerp * (lr - tr);
          const float x_slope = (1 - row.lerp) * (tr - tl) + row.lerp * (lr - ll);
          AddEnds(y_slope * from[c], rows, i, out, out + 2);
          AddEnds(x_slope * from[c], columns, j, out + 1, out + 3);
        }
      }
    }
  }
};

}  // namespace

void RegisterCropAndResizeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CropAndResize").Types("T", ImageTypes{}), MakeKernel<CropAndResizeKernel>);
  registry.Add(KernelBuilder("CropAndResizeGradImage").Types("T", TypeList<Half, float, double>{}),
               MakeKernel<CropGradImageKernel>);
  registry.Add(KernelBuilder("CropAndResizeGradBoxes").Types("T", ImageTypes{}), MakeKernel<CropGradBoxesKernel>);
}

}  // namespace weir
