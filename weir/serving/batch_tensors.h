// Tensors of several requests as one batch, along dimension 0, and back.
#ifndef WEIR_SERVING_BATCH_TENSORS_H_
#define WEIR_SERVING_BATCH_TENSORS_H_

#include <span>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir {

// The rows of all tensors, then copies of the first row of the last one until there are `rows`. The tensors have the
// same type and rank, and the same sizes after the first unless `pad`: then smaller ones are filled up with zeros
// (empty strings) to the largest. FAILED_PRECONDITION if sizes differ and are not to be padded.
StatusOr<Tensor> ConcatRows(std::span<const Tensor* const> tensors, int64_t rows, bool pad);

// Whether both have the same type and the same sizes after the first; with `pad` the same type and rank.
bool RowsFit(const Tensor& a, const Tensor& b, bool pad);

}  // namespace weir

#endif  // WEIR_SERVING_BATCH_TENSORS_H_
