// Kernels of the rules in adagrad_rules.h.
#include "weir/ops/train/adagrad_rules.h"
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/register.h"

namespace weir {

using namespace train;  // NOLINT: the rules

void RegisterAdagradKernels(KernelRegistry& registry) {
  const OptimizerOptions slots{.flag = "update_slots", .all_rows_or_none = true};
  RegisterOptimizer<Adagrad>(
      registry, {"ApplyAdagrad", "ResourceApplyAdagrad", "SparseApplyAdagrad", "ResourceSparseApplyAdagrad"},
      FloatsAndComplexes{}, slots);
  RegisterOptimizer<AdagradV2>(
      registry, {"ApplyAdagradV2", "ResourceApplyAdagradV2", "SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2"},
      FloatsAndComplexes{}, slots);
  RegisterOptimizer<AdagradDA>(
      registry, {"ApplyAdagradDA", "ResourceApplyAdagradDA", "SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA"},
      TypeList<float, double>{});
  RegisterOptimizer<Adadelta>(
      registry, {"ApplyAdadelta", "ResourceApplyAdadelta", "SparseApplyAdadelta", "ResourceSparseApplyAdadelta"},
      FloatsAndComplexes{}, {.all_rows_or_none = true});
}

}  // namespace weir
