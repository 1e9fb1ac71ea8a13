// The kernels of images.
#ifndef WEIR_OPS_IMAGE_REGISTER_H_
#define WEIR_OPS_IMAGE_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterImageKernels(KernelRegistry& registry);

// Its parts.
void RegisterDecodeImageKernels(KernelRegistry& registry);
void RegisterEncodeImageKernels(KernelRegistry& registry);
void RegisterResizeBilinearKernels(KernelRegistry& registry);
void RegisterResizeNearestKernels(KernelRegistry& registry);
void RegisterResizeBicubicKernels(KernelRegistry& registry);
void RegisterResizeAreaKernels(KernelRegistry& registry);
void RegisterScaleAndTranslateKernels(KernelRegistry& registry);
void RegisterCropAndResizeKernels(KernelRegistry& registry);
void RegisterColorKernels(KernelRegistry& registry);
void RegisterDrawBoxesKernels(KernelRegistry& registry);
void RegisterNonMaxSuppressionKernels(KernelRegistry& registry);
void RegisterCombinedNonMaxSuppressionKernels(KernelRegistry& registry);
void RegisterDistortedBoxKernels(KernelRegistry& registry);
void RegisterGlimpseKernels(KernelRegistry& registry);
void RegisterProjectiveTransformKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_IMAGE_REGISTER_H_
