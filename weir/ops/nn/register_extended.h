// CPU kernels of nn that most models do not need: volumes, uneven windows, recurrent cells, CTC, quantised values.
#ifndef WEIR_OPS_NN_REGISTER_EXTENDED_H_
#define WEIR_OPS_NN_REGISTER_EXTENDED_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterExtendedNnKernels(KernelRegistry& registry);

void RegisterPool3DKernels(KernelRegistry& registry);
void RegisterMaxPoolV2Kernels(KernelRegistry& registry);
void RegisterConv3DGradKernels(KernelRegistry& registry);
void RegisterDilationKernels(KernelRegistry& registry);
void RegisterFractionalPoolKernels(KernelRegistry& registry);
void RegisterPatchesKernels(KernelRegistry& registry);
void RegisterLstmKernels(KernelRegistry& registry);
void RegisterGruKernels(KernelRegistry& registry);
void RegisterCtcLossKernels(KernelRegistry& registry);
void RegisterCtcDecoderKernels(KernelRegistry& registry);
void RegisterFakeQuantKernels(KernelRegistry& registry);
void RegisterQuantizeKernels(KernelRegistry& registry);
void RegisterQuantizeAndDequantizeKernels(KernelRegistry& registry);
void RegisterDataFormatKernels(KernelRegistry& registry);
void RegisterIsotonicRegressionKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_NN_REGISTER_EXTENDED_H_
