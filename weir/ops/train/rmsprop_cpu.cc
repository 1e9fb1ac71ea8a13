// Kernels of the rules in rmsprop_rules.h.
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/register.h"
#include "weir/ops/train/rmsprop_rules.h"

namespace weir {

using namespace train;  // NOLINT: the rules

void RegisterRmsPropKernels(KernelRegistry& registry) {
  RegisterOptimizer<RmsProp>(registry, {"ApplyRMSProp", "ResourceApplyRMSProp"}, FloatsAndComplexes{});
  RegisterOptimizer<RmsPropRows>(registry, {"SparseApplyRMSProp", "ResourceSparseApplyRMSProp"}, FloatsAndComplexes{},
                                 {.all_rows_or_none = true});
  RegisterOptimizer<CenteredRmsProp>(registry, {"ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp"},
                                     FloatsAndComplexes{});
  RegisterOptimizer<CenteredRmsPropRows>(registry, {"SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp"},
                                         FloatsAndComplexes{}, {.all_rows_or_none = true});
}

}  // namespace weir
