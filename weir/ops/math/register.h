// CPU kernels of the math family.
#ifndef WEIR_OPS_MATH_REGISTER_H_
#define WEIR_OPS_MATH_REGISTER_H_

namespace weir {

class KernelRegistry;

void RegisterMathKernels(KernelRegistry& registry);

// One function a file.
void RegisterArithmeticKernels(KernelRegistry& registry);
void RegisterDivisionKernels(KernelRegistry& registry);
void RegisterGuardedArithmeticKernels(KernelRegistry& registry);
void RegisterCompareKernels(KernelRegistry& registry);
void RegisterLogicalKernels(KernelRegistry& registry);
void RegisterSimpleUnaryKernels(KernelRegistry& registry);
void RegisterRoundingKernels(KernelRegistry& registry);
void RegisterExponentialKernels(KernelRegistry& registry);
void RegisterTrigonometricKernels(KernelRegistry& registry);
void RegisterElementwiseGradientKernels(KernelRegistry& registry);
void RegisterFusedElementwiseKernels(KernelRegistry& registry);
void RegisterComplexKernels(KernelRegistry& registry);
void RegisterBitwiseKernels(KernelRegistry& registry);
void RegisterCastKernels(KernelRegistry& registry);
void RegisterSelectKernels(KernelRegistry& registry);
void RegisterAddNKernels(KernelRegistry& registry);
void RegisterSpecialFunctionKernels(KernelRegistry& registry);
void RegisterBesselKernels(KernelRegistry& registry);
void RegisterReductionKernels(KernelRegistry& registry);
void RegisterMatMulKernels(KernelRegistry& registry);
void RegisterViewMatMulKernels(KernelRegistry& registry);
void RegisterArgMaxKernels(KernelRegistry& registry);
void RegisterScanKernels(KernelRegistry& registry);
void RegisterSegmentKernels(KernelRegistry& registry);
void RegisterHistogramKernels(KernelRegistry& registry);
void RegisterCrossKernels(KernelRegistry& registry);
void RegisterTopKKernels(KernelRegistry& registry);
void RegisterSobolKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_MATH_REGISTER_H_
