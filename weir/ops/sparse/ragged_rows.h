// The row of each value of a ragged tensor.
#ifndef WEIR_OPS_SPARSE_RAGGED_ROWS_H_
#define WEIR_OPS_SPARSE_RAGGED_ROWS_H_

#include <vector>

#include "weir/base/status.h"
#include "weir/tensor/tensor.h"

namespace weir {

// INVALID_ARGUMENT if `splits` do not go from 0 to the number of values. A row whose end is before its start is empty,
// and the tensors may have any rank, as in TensorFlow.
inline StatusOr<std::vector<int64_t>> RowsOfRagged(const Tensor& splits, const Tensor& values) {
  if (splits.num_elements() < 1) return InvalidArgument("Splits must be non-empty");
  const int64_t* ends = splits.data<int64_t>();
  const int64_t rows = splits.num_elements() - 1, count = values.num_elements();
  if (ends[0] != 0) return InvalidArgument("Splits must start with 0, not with ", ends[0]);
  if (ends[rows] != count) {
    return InvalidArgument("Splits must end with the number of values, got ", ends[rows], " instead of ", count);
  }
  std::vector<int64_t> row_of(static_cast<size_t>(count));
  for (int64_t i = 0, row = 0; i < count; ++i) {
    while (i >= ends[row + 1]) ++row;
    row_of[i] = row;
  }
  return row_of;
}

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_RAGGED_ROWS_H_
