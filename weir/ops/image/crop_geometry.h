// What CropAndResize and its gradients check first, apart from the values of box_index.
#ifndef WEIR_OPS_IMAGE_CROP_GEOMETRY_H_
#define WEIR_OPS_IMAGE_CROP_GEOMETRY_H_

#include "weir/framework/kernel.h"

namespace weir {

StatusOr<bool> ReadIsNearest(const KernelInit& init);  // the attribute "method"
// The number of boxes.
StatusOr<int64_t> CheckBoxShapes(const Shape& boxes, const Shape& indices);
Status BadBoxIndex();

// Of CropAndResize(image, boxes, box_index, crop_size).
StatusOr<Shape> CropShape(KernelContext& ctx);
// The image's shape, of CropAndResizeGradImage(grads, boxes, box_index, image_size).
StatusOr<Shape> CropSourceShape(KernelContext& ctx);
// Of CropAndResizeGradBoxes(grads, image, boxes, box_index): the number of boxes.
StatusOr<int64_t> CheckCropGradBoxes(KernelContext& ctx);

}  // namespace weir

#endif  // WEIR_OPS_IMAGE_CROP_GEOMETRY_H_
