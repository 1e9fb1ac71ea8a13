// Index tensors: checked and widened once, so that the code behind needs no template over the index type.
#ifndef WEIR_OPS_STATE_INDICES_H_
#define WEIR_OPS_STATE_INDICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir::state {

// "[1,2]": where element `flat` of a tensor of this shape is; "" for a scalar.
std::string PositionText(const Shape& shape, int64_t flat);

// The values of an int32 or int64 tensor.
StatusOr<std::vector<int64_t>> IndexValues(const Tensor& indices);

// As above; INVALID_ARGUMENT "indices[0,1] = 7 is not in [0, 5)" unless all are in [0, limit).
StatusOr<std::vector<int64_t>> RowIndices(const Tensor& indices, int64_t limit);

// The values in front of the first that is not in [0, limit), and the error above for that one.
struct RowsToFirstBad {
  std::vector<int64_t> rows;
  Status bad;
};
StatusOr<RowsToFirstBad> RowIndicesToFirstBad(const Tensor& indices, int64_t limit);

// Each row of `indices` (all but its last dimension count rows) addresses a slice of a tensor of `shape`.
struct SliceIndices {
  int depth = 0;              // how many dimensions of `shape` a row addresses
  Shape outer;                // of the rows
  int64_t slice_size = 1;     // elements of one slice
  std::vector<int64_t> rows;  // index of the slice; -1 where a row is out of range
  int64_t first_bad = -1;     // the first such row, -1 if there is none
};
// REQUIRES: indices.rank() >= 1, and its last dimension (1 for a vector if `vector_is_column`) <= shape.rank().
StatusOr<SliceIndices> ResolveSlices(const Tensor& indices, const Shape& shape, bool vector_is_column);

// "[1, 3]": row `row` of `indices`.
std::string RowText(const Tensor& indices, int64_t row, int depth, std::string_view separator);

}  // namespace weir::state

#endif  // WEIR_OPS_STATE_INDICES_H_
