#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterGpuKernels(const OpRegistry& ops, KernelRegistry& kernels) {
  GpuRegistry registry(ops, kernels);
  registry.AddHostKernels();
  RegisterCollectiveKernels(registry);
  RegisterCombineKernels(registry);
  RegisterCompactKernels(registry);
  RegisterCountingKernels(registry);
  RegisterElementwiseKernels(registry);
  RegisterFftKernels(registry);
  RegisterFusedKernels(registry);
  RegisterGatherScatterKernels(registry);
  RegisterLinalgKernels(registry);
  RegisterMatMulKernels(registry);
  RegisterNnKernels(registry);
  RegisterOptimizerKernels(registry);
  RegisterPlaceKernels(registry);
  RegisterPortableArrayKernels(registry);
  RegisterRandomKernels(registry);
  RegisterReductionKernels(registry);
  RegisterScanKernels(registry);
  RegisterSegmentKernels(registry);
  RegisterSparseMatMulKernels(registry);
  RegisterSparseSegmentKernels(registry);
  RegisterTopKKernels(registry);
  RegisterVariableKernels(registry);
  RegisterVariableSliceKernels(registry);
}

}  // namespace weir::cuda
