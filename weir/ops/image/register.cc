#include "weir/ops/image/register.h"

namespace weir {

void RegisterImageKernels(KernelRegistry& registry) {
  RegisterDecodeImageKernels(registry);
  RegisterEncodeImageKernels(registry);
  RegisterResizeBilinearKernels(registry);
  RegisterResizeNearestKernels(registry);
  RegisterResizeBicubicKernels(registry);
  RegisterResizeAreaKernels(registry);
  RegisterScaleAndTranslateKernels(registry);
  RegisterCropAndResizeKernels(registry);
  RegisterColorKernels(registry);
  RegisterDrawBoxesKernels(registry);
  RegisterNonMaxSuppressionKernels(registry);
  RegisterCombinedNonMaxSuppressionKernels(registry);
  RegisterDistortedBoxKernels(registry);
  RegisterGlimpseKernels(registry);
  RegisterProjectiveTransformKernels(registry);
}

}  // namespace weir
