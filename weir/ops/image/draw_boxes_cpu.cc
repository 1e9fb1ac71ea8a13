// DrawBoundingBoxes: the outlines of boxes.
#include <algorithm>
#include <cmath>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

using ColorTable = std::vector<std::vector<float>>;

ColorTable DefaultColors(int64_t channels) {
  ColorTable colors = {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
                       {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};
  // Gray images get white lines.
  if (channels == 1) {
    for (std::vector<float>& color : colors) color[0] = 1;
  }
  return colors;
}

// A box in pixels; the ends may lie outside the image.
struct PixelBox {
  int64_t top, left, bottom, right;
};

// False for boxes that are not numbers.
bool ToPixels(const float* box, int64_t height, int64_t width, PixelBox* out) {
  constexpr float kFar = 1e9f;
  int64_t ends[4];
  for (int i = 0; i < 4; ++i) {
    const float place = box[i] * static_cast<float>((i % 2 == 0 ? height : width) - 1);
    if (std::isnan(place)) return false;
    ends[i] = static_cast<int64_t>(std::clamp(place, -kFar, kFar));
  }
  *out = {ends[0], ends[1], ends[2], ends[3]};
  return true;
}

template <typename T>
class Canvas {
 public:
  Canvas(T* pixels, int64_t height, int64_t width, int64_t channels)
      : pixels_(pixels), height_(height), width_(width), channels_(channels) {}

  void Draw(const PixelBox& box, const std::vector<float>& color) {
    if (box.top > box.bottom || box.left > box.right) return;
    if (box.top >= height_ || box.bottom < 0 || box.left >= width_ || box.right < 0) return;
    const int64_t top = std::max<int64_t>(box.top, 0), bottom = std::min(box.bottom, height_ - 1);
    const int64_t left = std::max<int64_t>(box.left, 0), right = std::min(box.right, width_ - 1);
    for (int64_t x = left; x <= right; ++x) {
      if (box.top >= 0) Put(box.top, x, color);
      if (box.bottom < height_) Put(box.bottom, x, color);
    }
    for (int64_t y = top; y <= bottom; ++y) {
      if (box.left >= 0) Put(y, box.left, color);
      if (box.right < width_) Put(y, box.right, color);
    }
  }

 private:
  void Put(int64_t y, int64_t x, const std::vector<float>& color) {
    for (int64_t c = 0; c < channels_; ++c) pixels_[(y * width_ + x) * channels_ + c] = static_cast<T>(color[c]);
  }
  T* const pixels_;
  const int64_t height_, width_, channels_;
};

class DrawBoxesKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0), boxes = ctx.input(1);
    if (image.rank() != 4) return InvalidArgument("The rank of the images should be 4");
    if (boxes.rank() != 3) return InvalidArgument("The rank of the boxes tensor should be 3");
    if (image.dim(0) != boxes.dim(0)) return InvalidArgument("The batch sizes should be the same");
    if (boxes.dim(2) != 4) return InvalidArgument("The boxes should have 4 coordinates, got ", boxes.dim(2));
    const int64_t height = image.dim(1), width = image.dim(2), channels = image.dim(3);
    if (channels != 1 && channels != 3 && channels != 4) {
      return InvalidArgument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
    }
    WEIR_ASSIGN_OR_RETURN(ColorTable colors, Colors(ctx, channels));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, image.shape()));
    CopyElements(image, 0, *out, 0, image.num_elements());
    DispatchDType(image.dtype(), TypeList<Half, float>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t b = 0; b < image.dim(0) && height > 0 && width > 0; ++b) {
        Canvas<T> canvas(out->data<T>() + b * height * width * channels, height, width, channels);
        for (int64_t i = 0; i < boxes.dim(1); ++i) {
          PixelBox box;
          if (!ToPixels(boxes.data<float>() + (b * boxes.dim(1) + i) * 4, height, width, &box)) continue;
          canvas.Draw(box, colors[static_cast<size_t>(i) % colors.size()]);
        }
      }
    });
    return OkStatus();
  }

 private:
  static StatusOr<ColorTable> Colors(KernelContext& ctx, int64_t channels) {
    if (ctx.num_inputs() < 3 || ctx.input(2).num_elements() == 0) return DefaultColors(channels);
    const Tensor& table = ctx.input(2);
    if (table.rank() != 2) return InvalidArgument("colors must be a 2-D matrix", table.shape().ToString());
    if (table.dim(1) < channels) {
      return InvalidArgument("colors must have equal or more channels than the image provided: ",
                             table.shape().ToString());
    }
    ColorTable colors;
    for (int64_t i = 0; i < table.dim(0); ++i) {
      const float* row = table.data<float>() + i * table.dim(1);
      colors.emplace_back(row, row + table.dim(1));
    }
    return colors;
  }
};

}  // namespace

void RegisterDrawBoxesKernels(KernelRegistry& registry) {
  for (const char* op : {"DrawBoundingBoxes", "DrawBoundingBoxesV2"}) {
    registry.Add(KernelBuilder(op).Types("T", TypeList<Half, float>{}), MakeKernel<DrawBoxesKernel>);
  }
}

}  // namespace weir
