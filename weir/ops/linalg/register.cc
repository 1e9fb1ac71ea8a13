#include "weir/ops/linalg/register.h"

namespace weir {

void RegisterLinalgKernels(KernelRegistry& registry) {
  RegisterCholeskyKernels(registry);
  RegisterLuKernels(registry);
  RegisterQrKernels(registry);
  RegisterSvdKernels(registry);
  RegisterEigenvalueKernels(registry);
  RegisterLeastSquaresKernels(registry);
  RegisterTriangularSolveKernels(registry);
  RegisterTridiagonalKernels(registry);
  RegisterMatrixFunctionKernels(registry);
  RegisterEinsumKernels(registry);
  RegisterSparseMatMulKernels(registry);
}

}  // namespace weir
