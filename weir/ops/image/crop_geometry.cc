#include "weir/ops/image/crop_geometry.h"

namespace weir {
namespace {

Status CheckGradients(const Shape& grads) {
  if (grads.rank() != 4) return InvalidArgument("grads image must be 4-D", grads.ToString());
  return OkStatus();
}
Status CheckGradientSizes(const Shape& grads) {
  if (grads.dim(0) > 0 && (grads.dim(1) <= 0 || grads.dim(2) <= 0)) {
    return InvalidArgument("grads dimensions must be positive");
  }
  return OkStatus();
}

}  // namespace

StatusOr<bool> ReadIsNearest(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(std::string method, init.Attr<std::string>("method"));
  if (method != "bilinear" && method != "nearest") {
    return InvalidArgument("method must be 'bilinear' or 'nearest', got ", method);
  }
  return method == "nearest";
}

StatusOr<int64_t> CheckBoxShapes(const Shape& boxes, const Shape& indices) {
  if (boxes.num_elements() == 0 && indices.num_elements() == 0) return 0;
  if (boxes.rank() != 2) return InvalidArgument("boxes must be 2-D", boxes.ToString());
  if (boxes.dim(1) != 4) return InvalidArgument("boxes must have 4 columns");
  if (indices.rank() != 1) return InvalidArgument("box_index must be 1-D", indices.ToString());
  if (indices.dim(0) != boxes.dim(0)) return InvalidArgument("box_index has incompatible shape");
  return boxes.dim(0);
}

Status BadBoxIndex() { return OutOfRange("box_index has values outside [0, batch_size)"); }

StatusOr<Shape> CropShape(KernelContext& ctx) {
  const Shape& image = ctx.input(0).shape();
  const Tensor& crop = ctx.input(3);
  if (image.rank() != 4) return InvalidArgument("input image must be 4-D", image.ToString());
  if (image.dim(1) <= 0 || image.dim(2) <= 0) return InvalidArgument("image dimensions must be positive");
  WEIR_ASSIGN_OR_RETURN(int64_t count, CheckBoxShapes(ctx.input(1).shape(), ctx.input(2).shape()));
  if (crop.rank() != 1) return InvalidArgument("crop_size must be 1-D", crop.shape().ToString());
  if (crop.num_elements() != 2) return InvalidArgument("crop_size must have two elements", crop.shape().ToString());
  const int64_t height = crop.data<int32_t>()[0], width = crop.data<int32_t>()[1];
  if (height <= 0 || width <= 0) return InvalidArgument("crop dimensions must be positive");
  const int64_t dims[] = {count, height, width, image.dim(3)};
  return Shape::Make(dims);
}

StatusOr<Shape> CropSourceShape(KernelContext& ctx) {
  const Shape& grads = ctx.input(0).shape();
  const Tensor& size = ctx.input(3);
  WEIR_RETURN_IF_ERROR(CheckGradients(grads));
  if (size.rank() != 1) return InvalidArgument("image_size must be 1-D", size.shape().ToString());
  if (size.num_elements() != 4) return InvalidArgument("image_size must have 4 elements", size.shape().ToString());
  const int32_t* dims = size.data<int32_t>();
  const int64_t wide[] = {dims[0], dims[1], dims[2], dims[3]};
  WEIR_RETURN_IF_ERROR(CheckGradientSizes(grads));
  if (wide[1] <= 0 || wide[2] <= 0) return InvalidArgument("image dimensions must be positive");
  if (wide[3] != grads.dim(3)) return InvalidArgument("image_size and grads are incompatible");
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(wide));
  WEIR_ASSIGN_OR_RETURN(int64_t count, CheckBoxShapes(ctx.input(1).shape(), ctx.input(2).shape()));
  if (count != grads.dim(0)) return InvalidArgument("boxes and grads have incompatible shape");
  return shape;
}

StatusOr<int64_t> CheckCropGradBoxes(KernelContext& ctx) {
  const Shape &grads = ctx.input(0).shape(), &image = ctx.input(1).shape();
  WEIR_RETURN_IF_ERROR(CheckGradients(grads));
  if (image.rank() != 4) return InvalidArgument("input image must be 4-D", image.ToString());
  WEIR_RETURN_IF_ERROR(CheckGradientSizes(grads));
  if (image.dim(1) <= 0 || image.dim(2) <= 0) return InvalidArgument("image dimensions must be positive");
  if (image.dim(3) != grads.dim(3)) return InvalidArgument("image, grads depth differ");
  WEIR_ASSIGN_OR_RETURN(int64_t count, CheckBoxShapes(ctx.input(2).shape(), ctx.input(3).shape()));
  if (count != grads.dim(0)) return InvalidArgument("boxes and grads have incompatible shape");
  return count;
}

}  // namespace weir
