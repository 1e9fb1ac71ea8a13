#include "weir/ops/io/register.h"

namespace weir {

void RegisterIoKernels(KernelRegistry& registry) {
  RegisterRestoreKernels(registry);
  RegisterSaveKernels(registry);
  RegisterShardNameKernels(registry);
  RegisterFileKernels(registry);
  RegisterDecodeKernels(registry);
  RegisterCsvKernels(registry);
}

}  // namespace weir
