// Concatenates tensors of several requests into a batch along dimension 0, and splits batches.
#ifndef WEIR_SERVING_BATCH_TENSORS_H_
#define WEIR_SERVING_BATCH_TENSORS_H_

#include <span>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir {

// Concatenates the rows of all tensors and repeats the first row of the last one until there are `rows`. The tensors
// must have the same type and rank. The other dimensions must be equal, unless `pad`: then smaller ones are padded with
// zeros (empty strings) to the largest. FAILED_PRECONDITION if sizes differ without `pad`.
StatusOr<Tensor> ConcatRows(std::span<const Tensor* const> tensors, int64_t rows, bool pad);

// Whether both have the same type and, except for the first dimension, the same shape; with `pad`, the same type and
// rank.
bool RowsFit(const Tensor& a, const Tensor& b, bool pad);

}  // namespace weir

#endif  // WEIR_SERVING_BATCH_TENSORS_H_
