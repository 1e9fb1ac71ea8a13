#include "weir/ops/image/resize_geometry.h"

#include <algorithm>
#include <cmath>

namespace weir {

StatusOr<PixelPlacing> PixelPlacing::Read(const KernelInit& init) {
  PixelPlacing placing;
  WEIR_ASSIGN_OR_RETURN(placing.align_corners, init.Attr<bool>("align_corners"));
  if (init.HasAttr("half_pixel_centers")) {
    WEIR_ASSIGN_OR_RETURN(placing.half_pixel_centers, init.Attr<bool>("half_pixel_centers"));
  }
  if (placing.half_pixel_centers && placing.align_corners) {
    return InvalidArgument("If half_pixel_centers is True, align_corners must be False.");
  }
  return placing;
}

float ResizeScale(int64_t in_size, int64_t out_size, bool align_corners) {
  // One pixel has no second corner.
  return align_corners && out_size > 1 && in_size > 1
             ? static_cast<float>(in_size - 1) / static_cast<float>(out_size - 1)
             : static_cast<float>(in_size) / static_cast<float>(out_size);
}

std::vector<Between> PlacesBetween(int64_t out_size, int64_t in_size, float scale, bool half_pixel_centers) {
  std::vector<Between> out(static_cast<size_t>(out_size));
  for (int64_t i = 0; i < out_size; ++i) {
    const float place = SourcePlace(i, scale, half_pixel_centers);
    const float floor = std::floor(place);
    out[i] = {.lower = std::clamp<int64_t>(static_cast<int64_t>(floor), 0, in_size - 1),
              .upper = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(place)), 0, in_size - 1),
              .lerp = place - floor};
  }
  return out;
}

std::vector<int64_t> NearestPlaces(int64_t out_size, int64_t in_size, float scale, const PixelPlacing& placing) {
  std::vector<int64_t> out(static_cast<size_t>(out_size));
  for (int64_t i = 0; i < out_size; ++i) {
    const float place = (static_cast<float>(i) + (placing.half_pixel_centers ? 0.5f : 0.0f)) * scale;
    const float whole = placing.align_corners ? std::round(place) : std::floor(place);
    out[i] = std::clamp<int64_t>(static_cast<int64_t>(whole), 0, in_size - 1);
  }
  return out;
}

StatusOr<ResizeGeometry> ReadResizeGeometry(KernelContext& ctx, bool align_corners) {
  const Shape& image = ctx.input(0).shape();
  const Tensor& size = ctx.input(1);
  if (image.rank() != 4) return InvalidArgument("input must be 4-dimensional", image.ToString());
  if (!size.shape().IsVector()) return InvalidArgument("shape_t must be 1-dimensional", size.shape().ToString());
  if (size.num_elements() != 2) return InvalidArgument("shape_t must have two elements", size.shape().ToString());
  ResizeGeometry out;
  out.batch = image.dim(0);
  out.in_height = image.dim(1);
  out.in_width = image.dim(2);
  out.channels = image.dim(3);
  out.out_height = size.data<int32_t>()[0];
  out.out_width = size.data<int32_t>()[1];
  if (out.out_height <= 0 || out.out_width <= 0) return InvalidArgument("output dimensions must be positive");
  if (out.in_height > INT32_MAX || out.in_width > INT32_MAX) {
    return InvalidArgument("input sizes must be between 0 and max int32");
  }
  if (out.channels <= 0) return InvalidArgument("image must have at least one channel");
  if (out.in_height <= 0 || out.in_width <= 0) return InvalidArgument("input image must be of non-zero size");
  // The product is checked before anybody makes a shape of it.
  const int64_t dims[] = {out.batch, out.out_height, out.out_width, out.channels};
  WEIR_RETURN_IF_ERROR(Shape::Make(dims).status());
  out.height_scale = ResizeScale(out.in_height, out.out_height, align_corners);
  out.width_scale = ResizeScale(out.in_width, out.out_width, align_corners);
  return out;
}

StatusOr<Shape> ReadSourceShape(const Shape& gradients, const Tensor& size) {
  if (gradients.rank() != 4) return InvalidArgument("input must be 4-dimensional", gradients.ToString());
  if (!size.shape().IsVector()) return InvalidArgument("shape_t must be 1-dimensional", size.shape().ToString());
  if (size.num_elements() != 2) return InvalidArgument("shape_t must have two elements", size.shape().ToString());
  const int64_t height = size.data<int32_t>()[0], width = size.data<int32_t>()[1];
  if (height <= 0 || width <= 0) return InvalidArgument("shape_t's elements must be positive");
  const int64_t dims[] = {gradients.dim(0), height, width, gradients.dim(3)};
  return Shape::Make(dims);
}

StatusOr<ResizeGeometry> ReadGradientGeometry(const Shape& gradients, const Shape& source, bool align_corners) {
  if (gradients.rank() != 4) return InvalidArgument("input_grad must be 4-dimensional", gradients.ToString());
  if (source.rank() != 4) return InvalidArgument("original_image must be 4-dimensional", source.ToString());
  ResizeGeometry out;
  out.batch = gradients.dim(0);
  out.channels = gradients.dim(3);
  out.in_height = source.dim(1);
  out.in_width = source.dim(2);
  out.out_height = gradients.dim(1);
  out.out_width = gradients.dim(2);
  if (out.channels <= 0) return InvalidArgument("image must have at least one channel");
  if (source.dim(0) != out.batch || source.dim(3) != out.channels) {
    return InvalidArgument("gradients ", gradients.ToString(), " do not fit the image ", source.ToString());
  }
  if (out.in_height <= 0 || out.in_width <= 0) return InvalidArgument("original image must be of non-zero size");
  if (out.out_height <= 0 || out.out_width <= 0) return InvalidArgument("gradients must be of non-zero size");
  out.height_scale = ResizeScale(out.in_height, out.out_height, align_corners);
  out.width_scale = ResizeScale(out.in_width, out.out_width, align_corners);
  return out;
}

}  // namespace weir
