// The row of each value of a ragged tensor.
#ifndef WEIR_OPS_SPARSE_RAGGED_ROWS_H_
#define WEIR_OPS_SPARSE_RAGGED_ROWS_H_

#include <vector>

#include "weir/base/status.h"
#include "weir/tensor/tensor.h"

namespace weir {

// INVALID_ARGUMENT if `splits` do not go from 0 up to the number of values.
inline StatusOr<std::vector<int64_t>> RowsOfRagged(const Tensor& splits, const Tensor& values) {
  if (splits.rank() != 1 || splits.num_elements() < 1) {
    return InvalidArgument("Must provide at least one element for `splits`");
  }
  if (values.rank() != 1) return InvalidArgument("values must be a vector, got ", values.shape().ToString());
  const int64_t* ends = splits.data<int64_t>();
  const int64_t rows = splits.num_elements() - 1, count = values.num_elements();
  if (ends[0] != 0) return InvalidArgument("Splits must start with 0, not with ", ends[0]);
  if (ends[rows] != count) {
    return InvalidArgument("Splits must end with the number of values, got ", ends[rows], " instead of ", count);
  }
  std::vector<int64_t> row_of;
  for (int64_t row = 0; row < rows; ++row) {
    if (ends[row + 1] < ends[row] || ends[row + 1] > count) return InvalidArgument("Splits must not decrease");
    row_of.resize(static_cast<size_t>(ends[row + 1]), row);
  }
  return row_of;
}

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_RAGGED_ROWS_H_
