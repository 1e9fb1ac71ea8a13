// Matrix products by cuBLASLt. The algorithm for a product's sizes is asked for once and kept.
#ifndef WEIR_DEVICE_CUDA_BLAS_H_
#define WEIR_DEVICE_CUDA_BLAS_H_

#include <cstdint>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// Whether float products and convolutions may be computed from operands rounded to TensorFloat-32, as TensorFlow does
// by default. $WEIR_CUDA_TF32=0 and SetTensorFloat32(false) forbid it.
bool AllowsTensorFloat32();
void SetTensorFloat32(bool allowed);

// `batch` products out[m, n] = a[m, k] b[k, n] of matrices in rows.
struct MatrixProduct {
  enum class Activation { kNone, kRelu, kGelu };  // GELU by its approximation with tanh

  DType dtype = DType::kFloat;     // half, bfloat16, float, double, complex64 or complex128
  DType output = DType::kInvalid;  // of `out`, if it is another: float for half and bfloat16
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;  // a is stored as [k, m], b as [n, k]
  bool conjugate_a = false, conjugate_b = false;  // REQUIRES: that operand is transposed too
  // Elements from a row to the next; 0: rows lie one behind the other.
  int64_t a_row = 0, b_row = 0, out_row = 0;
  // Elements from a matrix to the next; 0: all products share the operand. That of `out` is 0 if batch is 1 only.
  int64_t a_step = 0, b_step = 0, out_step = 0;
  double beta = 0;  // what is in `out` before, times this, is added

  // Added to each row, n elements; 0: none.
  DeviceAddress bias = 0;
  Activation activation = Activation::kNone;
};

// Whether cuBLASLt does the bias and the activation of products of this type.
bool HasEpilogues(DType dtype);

// Enqueues the products. REQUIRES: m, n, k and batch are positive; without HasEpilogues, neither bias nor activation.
Status Multiply(KernelContext& ctx, const MatrixProduct& product, DeviceAddress a, DeviceAddress b, DeviceAddress out);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_BLAS_H_
