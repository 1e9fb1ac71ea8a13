#include "weir/ops/nn/register_extended.h"

namespace weir {

void RegisterExtendedNnKernels(KernelRegistry& registry) {
  RegisterPool3DKernels(registry);
  RegisterMaxPoolV2Kernels(registry);
  RegisterConv3DGradKernels(registry);
  RegisterDilationKernels(registry);
  RegisterFractionalPoolKernels(registry);
  RegisterPatchesKernels(registry);
  RegisterLstmKernels(registry);
  RegisterGruKernels(registry);
  RegisterCtcLossKernels(registry);
  RegisterCtcDecoderKernels(registry);
  RegisterFakeQuantKernels(registry);
  RegisterQuantizeKernels(registry);
  RegisterQuantizeAndDequantizeKernels(registry);
  RegisterDataFormatKernels(registry);
  RegisterIsotonicRegressionKernels(registry);
}

}  // namespace weir
