// Kernels of the rules in proximal_rules.h.
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/proximal_rules.h"
#include "weir/ops/train/register.h"

namespace weir {

using namespace train;  // NOLINT: the rules

void RegisterProximalKernels(KernelRegistry& registry) {
  RegisterOptimizer<ProximalGradientDescent>(
      registry,
      {"ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent", "SparseApplyProximalGradientDescent",
       "ResourceSparseApplyProximalGradientDescent"},
      TypeList<float, double>{});
  RegisterOptimizer<ProximalAdagrad>(registry,
                                     {"ApplyProximalAdagrad", "ResourceApplyProximalAdagrad",
                                      "SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"},
                                     TypeList<float, double>{}, {.check = OptimizerOptions::Check::kProximal});
}

}  // namespace weir
