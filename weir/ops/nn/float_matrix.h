// Small dense matrices of floats for recurrent cells: made from tensors of half or float, and written back.
#ifndef WEIR_OPS_NN_FLOAT_MATRIX_H_
#define WEIR_OPS_NN_FLOAT_MATRIX_H_

#include <vector>

#include "weir/framework/kernel.h"

namespace weir::nn {

struct FloatMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> data;

  FloatMatrix() = default;
  FloatMatrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), data(rows * columns, 0.0f) {}
  float& operator()(int64_t r, int64_t c) { return data[r * columns + c]; }
  float operator()(int64_t r, int64_t c) const { return data[r * columns + c]; }
};

// Elements [at, at + rows * columns) of a tensor of half or float.
FloatMatrix ReadMatrix(const Tensor& tensor, int64_t at, int64_t rows, int64_t columns);
inline FloatMatrix ReadVector(const Tensor& tensor) { return ReadMatrix(tensor, 0, 1, tensor.num_elements()); }
void WriteMatrix(const FloatMatrix& matrix, Tensor& tensor, int64_t at = 0);

// Columns of a, then those of b. REQUIRES: as many rows.
FloatMatrix JoinColumns(const FloatMatrix& a, const FloatMatrix& b);
// Columns [begin, end).
FloatMatrix Columns(const FloatMatrix& a, int64_t begin, int64_t end);
// a b, with a or b transposed if told.
FloatMatrix Product(const KernelContext& ctx, const FloatMatrix& a, const FloatMatrix& b, bool transpose_a = false,
                    bool transpose_b = false);

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_FLOAT_MATRIX_H_
