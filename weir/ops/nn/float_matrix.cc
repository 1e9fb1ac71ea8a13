#include "weir/ops/nn/float_matrix.h"

#include "weir/device/cpu/contraction.h"

namespace weir::nn {

FloatMatrix ReadMatrix(const Tensor& tensor, int64_t at, int64_t rows, int64_t columns) {
  FloatMatrix out(rows, columns);
  const int64_t n = rows * columns;
  if (tensor.dtype() == DType::kHalf) {
    for (int64_t i = 0; i < n; ++i) out.data[i] = static_cast<float>(tensor.data<Half>()[at + i]);
  } else {
    std::copy_n(tensor.data<float>() + at, n, out.data.begin());
  }
  return out;
}

void WriteMatrix(const FloatMatrix& matrix, Tensor& tensor, int64_t at) {
  if (tensor.dtype() == DType::kHalf) {
    for (size_t i = 0; i < matrix.data.size(); ++i) tensor.data<Half>()[at + i] = static_cast<Half>(matrix.data[i]);
  } else {
    std::copy(matrix.data.begin(), matrix.data.end(), tensor.data<float>() + at);
  }
}

FloatMatrix JoinColumns(const FloatMatrix& a, const FloatMatrix& b) {
  FloatMatrix out(a.rows, a.columns + b.columns);
  for (int64_t r = 0; r < a.rows; ++r) {
    float* to = out.data.data() + r * out.columns;
    std::copy_n(a.data.data() + r * a.columns, a.columns, to);
    std::copy_n(b.data.data() + r * b.columns, b.columns, to + a.columns);
  }
  return out;
}

FloatMatrix Columns(const FloatMatrix& a, int64_t begin, int64_t end) {
  FloatMatrix out(a.rows, end - begin);
  for (int64_t r = 0; r < a.rows; ++r) {
    std::copy_n(a.data.data() + r * a.columns + begin, out.columns, out.data.data() + r * out.columns);
  }
  return out;
}

FloatMatrix Product(const KernelContext& ctx, const FloatMatrix& a, const FloatMatrix& b, bool transpose_a,
                    bool transpose_b) {
  const int64_t m = transpose_a ? a.columns : a.rows, k = transpose_a ? a.rows : a.columns;
  const int64_t n = transpose_b ? b.rows : b.columns;
  FloatMatrix out(m, n);
  if (m == 0 || n == 0 || k == 0) return out;
  const MatrixOperand x{a.data.data(), transpose_a ? 1 : a.columns, transpose_a ? a.columns : 1, 0};
  const MatrixOperand y{b.data.data(), transpose_b ? 1 : b.columns, transpose_b ? b.columns : 1, 0};
  if (MultiplyMatrices(ctx, {1, m, n, k}, x, y, Epilogue(), out.data.data())) return out;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const float factor = x.data[i * x.row_stride + p * x.column_stride];
      const float* line = y.data + p * y.row_stride;
      for (int64_t j = 0; j < n; ++j) out.data[i * n + j] += factor * line[j * y.column_stride];
    }
  }
  return out;
}

}  // namespace weir::nn
