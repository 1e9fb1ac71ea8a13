// CPU kernels of sound and spectra.
#ifndef WEIR_OPS_AUDIO_REGISTER_H_
#define WEIR_OPS_AUDIO_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterAudioKernels(KernelRegistry& registry);

void RegisterFftKernels(KernelRegistry& registry);
void RegisterSpectrogramKernels(KernelRegistry& registry);
void RegisterWavKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_AUDIO_REGISTER_H_
