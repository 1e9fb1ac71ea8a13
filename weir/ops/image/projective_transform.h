// What all kernels of ImageProjectiveTransform check first.
#ifndef WEIR_OPS_IMAGE_PROJECTIVE_TRANSFORM_H_
#define WEIR_OPS_IMAGE_PROJECTIVE_TRANSFORM_H_

#include "weir/framework/kernel.h"

namespace weir {

// What is seen beyond the border. Device code knows the numbers.
enum class FillMode { kConstant = 0, kReflect = 1, kWrap = 2, kNearest = 3 };

struct ProjectionOptions {
  bool is_bilinear = false;
  FillMode mode = FillMode::kConstant;
};
StatusOr<ProjectionOptions> ReadProjectionOptions(const KernelInit& init);

struct ProjectionSizes {
  Shape shape;  // of the result
  float fill = 0;
};
// Of ImageProjectiveTransformV3(images, transforms, output_shape, fill_value), or V2 without the last.
StatusOr<ProjectionSizes> ReadProjectionSizes(KernelContext& ctx);

}  // namespace weir

#endif  // WEIR_OPS_IMAGE_PROJECTIVE_TRANSFORM_H_
