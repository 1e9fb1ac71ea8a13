// Decompositions of batches of matrices by cuSOLVER, which counts in columns: a matrix in rows is its own transpose.
//
// `info` is an int32 for each matrix, set when the work is done: 0, or what the routine says of a matrix that it cannot
// decompose. Types are float, double, complex64 and complex128. Sizes are positive and fit an int.
#ifndef WEIR_DEVICE_CUDA_SOLVER_H_
#define WEIR_DEVICE_CUDA_SOLVER_H_

#include <cstdint>

#include "weir/device/cuda/abi/cublaslt_abi.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {

struct SquareMatrices {
  DType dtype = DType::kFloat;
  int64_t n = 0, batch = 1;
};

// a = u^H u in place, of which only the upper triangle of columns is read and written.
Status FactorCholesky(KernelContext& ctx, const SquareMatrices& matrices, DeviceAddress a, DeviceAddress info);

// a = p l u in place. `pivots`: n int32 a matrix, counted from 1.
Status FactorLu(KernelContext& ctx, const SquareMatrices& matrices, DeviceAddress a, DeviceAddress pivots,
                DeviceAddress info);
// op(a) x = b for the factors of FactorLu; b has `columns` columns and becomes x.
Status SolveByLu(KernelContext& ctx, const SquareMatrices& matrices, CublasOperation operation, DeviceAddress lu,
                 DeviceAddress pivots, DeviceAddress b, int64_t columns, DeviceAddress info);

// Ascending eigenvalues, real, of self-adjoint matrices of which the upper triangle of columns is read. `a` becomes the
// eigenvectors, one a column, if they are wanted, and is destroyed otherwise.
Status SelfAdjointEigenvalues(KernelContext& ctx, const SquareMatrices& matrices, bool vectors, DeviceAddress a,
                              DeviceAddress values, DeviceAddress info);

// a = u s vt of matrices with at least as many rows as columns, which are destroyed. `full`: u is rows x rows, else
// rows x columns. u and vt are 0 if they are not wanted.
struct TallMatrices {
  DType dtype = DType::kFloat;
  int64_t rows = 0, columns = 0, batch = 1;
};
Status FactorSvd(KernelContext& ctx, const TallMatrices& matrices, bool full, DeviceAddress a, DeviceAddress s,
                 DeviceAddress u, DeviceAddress vt, DeviceAddress info);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_SOLVER_H_
