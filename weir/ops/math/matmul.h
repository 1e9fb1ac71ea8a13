#ifndef WEIR_OPS_MATH_MATMUL_H_
#define WEIR_OPS_MATH_MATMUL_H_

#include "weir/device/cpu/contraction.h"
#include "weir/framework/kernel.h"

namespace weir {

// out[m, n] = a[m, k] b[k, n], whether the kernel library takes it or not. The batch strides are of no account.
void MultiplyFloatMatrices(KernelContext& ctx, const MatrixOperand& a, const MatrixOperand& b, float* out, int64_t m,
                           int64_t n, int64_t k);

}  // namespace weir

#endif  // WEIR_OPS_MATH_MATMUL_H_
