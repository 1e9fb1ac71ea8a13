// The inner loop of every scatter: rows of a tensor updated in place.
#ifndef WEIR_OPS_STATE_SCATTER_ROWS_H_
#define WEIR_OPS_STATE_SCATTER_ROWS_H_

#include <cstdint>
#include <span>

#include "weir/framework/kernel.h"
#include "weir/tensor/tensor.h"

namespace weir::state {

enum class ScatterOp { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

// Types that an op takes.
std::vector<DType> ScatterTypes(ScatterOp op);

// The shapes of ScatterUpdate and its like, which name rows of dimension 0; `is_ref`: of a ref variable.
Status CheckScatterRows(bool is_ref, ScatterOp op, const Shape& params, const Shape& indices, const Shape& updates);
// The shapes of ScatterNdUpdate and its like.
Status CheckScatterSlices(const Shape& params, const Shape& indices, const Shape& updates);

// By the attribute bad_indices_policy; false where an op has none.
StatusOr<bool> IgnoresBadIndices(const KernelInit& init);

// For each i in order: row rows[i] of `params` (rows of `row_size` elements) gets op(row, row i of `updates`); where
// `updates` is one element, that element for all. Negative rows are skipped. INVALID_ARGUMENT if an integer would be
// divided by 0; nothing is written then.
// REQUIRES: rows fit `params`, and `updates` has its type and at least rows.size() * row_size elements (or one, if
// `is_scalar`).
Status ScatterRows(const KernelContext& ctx, ScatterOp op, std::span<const int64_t> rows, int64_t row_size,
                   const Tensor& updates, bool is_scalar, Tensor& params);

// params[rows[i]] -= row i of `updates` * scale, in order. As ScatterRows, of floats.
void SubtractScaledRows(const KernelContext& ctx, std::span<const int64_t> rows, int64_t row_size,
                        const Tensor& updates, float scale, Tensor& params);

}  // namespace weir::state

#endif  // WEIR_OPS_STATE_SCATTER_ROWS_H_
