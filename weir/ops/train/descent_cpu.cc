// Kernels of the rules in descent_rules.h.
#include "weir/ops/train/descent_rules.h"
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/register.h"

namespace weir {

using namespace train;  // NOLINT: the rules

void RegisterDescentKernels(KernelRegistry& registry) {
  RegisterOptimizer<GradientDescent>(registry, {"ApplyGradientDescent", "ResourceApplyGradientDescent"},
                                     FloatsAndComplexes{});
  RegisterOptimizer<Momentum>(
      registry, {"ApplyMomentum", "ResourceApplyMomentum", "SparseApplyMomentum", "ResourceSparseApplyMomentum"},
      FloatsAndComplexes{}, {.flag = "use_nesterov"});
  RegisterOptimizer<KerasMomentum>(registry, {"ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum"},
                                   FloatsAndComplexes{}, {.flag = "use_nesterov"});
  RegisterOptimizer<AddSign>(registry, {"ApplyAddSign", "ResourceApplyAddSign"}, RealFloats{});
  RegisterOptimizer<PowerSign>(registry, {"ApplyPowerSign", "ResourceApplyPowerSign"}, RealFloats{});
}

}  // namespace weir
