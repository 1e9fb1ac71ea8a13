// What kernels of sparse tensors check that see the shapes of indices, but not their values.
#ifndef WEIR_OPS_SPARSE_FILL_EMPTY_ROWS_H_
#define WEIR_OPS_SPARSE_FILL_EMPTY_ROWS_H_

#include "weir/framework/kernel.h"

namespace weir {

// A sparse tensor of indices [n, rank], values [n] and a shape [rank].
Status CheckSparseShapes(const Shape& indices, const Shape& values, const Shape& shape);
// Of SparseFillEmptyRows(indices, values, dense_shape, default_value); the shape is in the host's memory.
StatusOr<int64_t> SparseRowCount(KernelContext& ctx);
// Of RaggedFillEmptyRows(value_rowids, values, nrows, default_value); nrows is in the host's memory.
StatusOr<int64_t> RaggedRowCount(KernelContext& ctx);
Status CheckFillEmptyRowsGrad(const Shape& reverse_index_map, const Shape& grad_values);
// Of SparseToDense(sparse_indices, output_shape, sparse_values, default_value).
StatusOr<Shape> DenseShape(KernelContext& ctx);

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_FILL_EMPTY_ROWS_H_
