#include "weir/ops/io/register.h"

namespace weir {

void RegisterIoKernels(KernelRegistry& registry) {
  RegisterRestoreKernels(registry);
  RegisterSaveKernels(registry);
  RegisterFileKernels(registry);
  RegisterDecodeKernels(registry);
  RegisterCsvKernels(registry);
  RegisterParseExampleKernels(registry);
  RegisterParseSequenceExampleKernels(registry);
  RegisterJsonKernels(registry);
  RegisterReaderKernels(registry);
  RegisterSaveV1Kernels(registry);
  RegisterImmutableConstKernels(registry);
}

}  // namespace weir
