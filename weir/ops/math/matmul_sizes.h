// The sizes of matrix products, checked: what the kernels of all devices share.
#ifndef WEIR_OPS_MATH_MATMUL_SIZES_H_
#define WEIR_OPS_MATH_MATMUL_SIZES_H_

#include "weir/base/status.h"
#include "weir/tensor/shape.h"

namespace weir {

// out[m, n] = a[m, k] b[k, n], for each matrix of a batch.
struct MatMulSizes {
  int64_t m = 0, n = 0, k = 0;
  Shape a_batch, b_batch, batch;  // of BatchMatMul: the dimensions before the last two, and what they broadcast to
  Shape output;
};

// Of MatMul and _FusedMatMul.
StatusOr<MatMulSizes> SizesOfMatMul(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b);
// Of BatchMatMul and, if it `broadcasts`, its later versions.
StatusOr<MatMulSizes> SizesOfBatchMatMul(const Shape& a, const Shape& b, bool adjoint_a, bool adjoint_b,
                                         bool broadcasts);

}  // namespace weir

#endif  // WEIR_OPS_MATH_MATMUL_SIZES_H_
