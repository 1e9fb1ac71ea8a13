#include "weir/ops/io/register.h"

namespace weir {

void RegisterIoKernels(KernelRegistry& registry) {
  RegisterRestoreKernels(registry);
  RegisterSaveKernels(registry);
  RegisterFileKernels(registry);
  RegisterDecodeKernels(registry);
  RegisterCsvKernels(registry);
}

}  // namespace weir
