#include "weir/ops/math/register.h"

namespace weir {

void RegisterMathKernels(KernelRegistry& registry) {
  RegisterArithmeticKernels(registry);
  RegisterDivisionKernels(registry);
  RegisterGuardedArithmeticKernels(registry);
  RegisterCompareKernels(registry);
  RegisterLogicalKernels(registry);
  RegisterSimpleUnaryKernels(registry);
  RegisterRoundingKernels(registry);
  RegisterExponentialKernels(registry);
  RegisterTrigonometricKernels(registry);
  RegisterElementwiseGradientKernels(registry);
  RegisterFusedElementwiseKernels(registry);
  RegisterComplexKernels(registry);
  RegisterBitwiseKernels(registry);
  RegisterCastKernels(registry);
  RegisterSelectKernels(registry);
  RegisterAddNKernels(registry);
  RegisterSpecialFunctionKernels(registry);
  RegisterBesselKernels(registry);
  RegisterReductionKernels(registry);
  RegisterMatMulKernels(registry);
  RegisterViewMatMulKernels(registry);
  RegisterArgMaxKernels(registry);
  RegisterScanKernels(registry);
  RegisterSegmentKernels(registry);
  RegisterHistogramKernels(registry);
  RegisterCrossKernels(registry);
  RegisterTopKKernels(registry);
  RegisterSobolKernels(registry);
}

}  // namespace weir
