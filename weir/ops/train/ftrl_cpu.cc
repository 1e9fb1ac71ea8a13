// Kernels of the rules in ftrl_rules.h.
#include "weir/ops/train/ftrl_rules.h"
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/register.h"

namespace weir {

using namespace train;  // NOLINT: the rules

void RegisterFtrlKernels(KernelRegistry& registry) {
  const OptimizerOptions dense{.flag = "multiply_linear_by_lr"};
  const OptimizerOptions rows{.flag = "multiply_linear_by_lr", .check = OptimizerOptions::Check::kFtrl};
  RegisterOptimizer<Ftrl>(registry, {"ApplyFtrl", "ResourceApplyFtrl"}, RealFloats{}, dense);
  RegisterOptimizer<Ftrl>(registry, {"SparseApplyFtrl", "ResourceSparseApplyFtrl"}, RealFloats{}, rows);
  RegisterOptimizer<FtrlV2>(registry, {"ApplyFtrlV2", "ResourceApplyFtrlV2"}, RealFloats{}, dense);
  RegisterOptimizer<FtrlV2>(registry, {"SparseApplyFtrlV2", "ResourceSparseApplyFtrlV2"}, RealFloats{}, rows);
}

}  // namespace weir
