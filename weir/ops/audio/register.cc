#include "weir/ops/audio/register.h"

namespace weir {

void RegisterAudioKernels(KernelRegistry& registry) {
  RegisterFftKernels(registry);
  RegisterSpectrogramKernels(registry);
  RegisterWavKernels(registry);
}

}  // namespace weir
