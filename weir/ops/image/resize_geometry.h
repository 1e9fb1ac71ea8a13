// What all kernels that resize images check and compute first.
#ifndef WEIR_OPS_IMAGE_RESIZE_GEOMETRY_H_
#define WEIR_OPS_IMAGE_RESIZE_GEOMETRY_H_

#include "weir/framework/kernel.h"

namespace weir {

// How pixels of the result are placed over those of the source.
struct PixelPlacing {
  bool align_corners = false;
  bool half_pixel_centers = false;
  // Reads the attributes that the op has; INVALID_ARGUMENT if both are set.
  static StatusOr<PixelPlacing> Read(const KernelInit& init);
};

struct ResizeGeometry {
  int64_t batch = 0, channels = 0;
  int64_t in_height = 0, in_width = 0;
  int64_t out_height = 0, out_width = 0;
  float height_scale = 1, width_scale = 1;  // source pixels a result pixel
  Shape out_shape() const { return Shape({batch, out_height, out_width, channels}); }
};

// The source pixels that one result pixel lies between, and how far it is from the lower one.
struct Between {
  int64_t lower = 0, upper = 0;
  float lerp = 0;
};

float ResizeScale(int64_t in_size, int64_t out_size, bool align_corners);
// The place of result pixel `i` in the source.
inline float SourcePlace(int64_t i, float scale, bool half_pixel_centers) {
  const auto place = static_cast<float>(i);
  return half_pixel_centers ? (place + 0.5f) * scale - 0.5f : place * scale;
}
std::vector<Between> PlacesBetween(int64_t out_size, int64_t in_size, float scale, bool half_pixel_centers);
// The nearest source pixel of each result pixel.
std::vector<int64_t> NearestPlaces(int64_t out_size, int64_t in_size, float scale, const PixelPlacing& placing);

// Input 0 is [batch, height, width, channels], input 1 the new height and width.
StatusOr<ResizeGeometry> ReadResizeGeometry(KernelContext& ctx, bool align_corners);
// For gradients: input 0 are the gradients, of the size of the result; the shape is that of the source.
StatusOr<ResizeGeometry> ReadGradientGeometry(const Shape& gradients, const Shape& source, bool align_corners);

// The source's shape from its height and width.
StatusOr<Shape> ReadSourceShape(const Shape& gradients, const Tensor& size);

// A kernel that is told once where pixels lie.
class ResizeKernel : public Kernel {
 public:
  PixelPlacing placing;
};

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeResizeKernel(const KernelInit& init) {
  auto kernel = std::make_unique<K>();
  WEIR_ASSIGN_OR_RETURN(kernel->placing, PixelPlacing::Read(init));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace weir

#endif  // WEIR_OPS_IMAGE_RESIZE_GEOMETRY_H_
