#include "weir/client/builtin_kernels.h"

#include "weir/framework/kernel_registry.h"
#include "weir/ops/control_flow/register.h"
#include "weir/ops/state/register.h"
#include "weir/ops/table/register.h"

namespace weir {

void RegisterBuiltinKernels(KernelRegistry& registry) {
  RegisterControlFlowKernels(registry);
  RegisterStateKernels(registry);
  RegisterTableKernels(registry);
}

}  // namespace weir
