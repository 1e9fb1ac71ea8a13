// CPU kernels of linear algebra: decompositions, solvers, functions of matrices, Einsum.
#ifndef WEIR_OPS_LINALG_REGISTER_H_
#define WEIR_OPS_LINALG_REGISTER_H_

#include "weir/framework/kernel_registry.h"

namespace weir {

// All of the below.
void RegisterLinalgKernels(KernelRegistry& registry);

void RegisterCholeskyKernels(KernelRegistry& registry);
void RegisterLuKernels(KernelRegistry& registry);
void RegisterQrKernels(KernelRegistry& registry);
void RegisterSvdKernels(KernelRegistry& registry);
void RegisterEigenvalueKernels(KernelRegistry& registry);
void RegisterLeastSquaresKernels(KernelRegistry& registry);
void RegisterTriangularSolveKernels(KernelRegistry& registry);
void RegisterTridiagonalKernels(KernelRegistry& registry);
void RegisterMatrixFunctionKernels(KernelRegistry& registry);
void RegisterEinsumKernels(KernelRegistry& registry);
void RegisterSparseMatMulKernels(KernelRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_LINALG_REGISTER_H_
