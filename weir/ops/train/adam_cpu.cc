// Kernels of the rules in adam_rules.h.
#include "weir/ops/train/adam_rules.h"
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/register.h"

namespace weir {

using namespace train;  // NOLINT: the rules

void RegisterAdamKernels(KernelRegistry& registry) {
  RegisterOptimizer<Adam>(registry, {"ApplyAdam", "ResourceApplyAdam"}, FloatsAndComplexes{}, {.flag = "use_nesterov"});
  RegisterOptimizer<AdamWithAmsgrad>(registry, {"ResourceApplyAdamWithAmsgrad"}, RealFloats{});
  RegisterOptimizer<AdaMax>(registry, {"ApplyAdaMax", "ResourceApplyAdaMax"}, RealFloats{});
}

}  // namespace weir
