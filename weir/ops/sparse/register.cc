#include "weir/ops/sparse/register.h"

namespace weir {

void RegisterSparseKernels(KernelRegistry& registry) {
  RegisterSparseDenseKernels(registry);
  RegisterSparseRearrangeKernels(registry);
  RegisterSparseArithmeticKernels(registry);
  RegisterSparseFillKernels(registry);
  RegisterSparseSegmentKernels(registry);
  RegisterSparseSerializeKernels(registry);
  RegisterSparseCountKernels(registry);
  RegisterRaggedKernels(registry);
  RegisterRaggedVariantKernels(registry);
  RegisterSetKernels(registry);
  RegisterSparseMapKernels(registry);
  RegisterSparseBincountKernels(registry);
  RegisterSparseCrossKernels(registry);
  RegisterRaggedCrossKernels(registry);
  RegisterCsrKernels(registry);
}

}  // namespace weir
