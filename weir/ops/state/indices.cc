#include "weir/ops/state/indices.h"

namespace weir::state {

std::string PositionText(const Shape& shape, int64_t flat) {
  if (shape.rank() == 0) return "";
  std::vector<int64_t> position(shape.rank());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    int64_t dim = shape.dim(i) > 0 ? shape.dim(i) : 1;
    position[i] = flat % dim;
    flat /= dim;
  }
  std::string out = "[";
  for (int i = 0; i < shape.rank(); ++i) out += Cat(i > 0 ? "," : "", position[i]);
  return out + "]";
}

StatusOr<std::vector<int64_t>> IndexValues(const Tensor& indices) {
  std::vector<int64_t> values;
  if (indices.dtype() == DType::kInt32) {
    auto span = indices.span<int32_t>();
    values.assign(span.begin(), span.end());
  } else if (indices.dtype() == DType::kInt64) {
    auto span = indices.span<int64_t>();
    values.assign(span.begin(), span.end());
  } else {
    return InvalidArgument("indices must be int32 or int64, got ", Name(indices.dtype()));
  }
  return values;
}

StatusOr<RowsToFirstBad> RowIndicesToFirstBad(const Tensor& indices, int64_t limit) {
  RowsToFirstBad out;
  WEIR_ASSIGN_OR_RETURN(out.rows, IndexValues(indices));
  std::vector<int64_t>& values = out.rows;
  bool is_bad = false;  // first without a way out of the loop, so that several are looked at together
  for (int64_t value : values) is_bad |= static_cast<uint64_t>(value) >= static_cast<uint64_t>(limit);
  for (size_t i = 0; is_bad && i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= limit) {
      out.bad = InvalidArgument("indices", PositionText(indices.shape(), static_cast<int64_t>(i)), " = ", values[i],
                                " is not in [0, ", limit, ")");
      values.resize(i);
    }
  }
  return out;
}

StatusOr<std::vector<int64_t>> RowIndices(const Tensor& indices, int64_t limit) {
  WEIR_ASSIGN_OR_RETURN(RowsToFirstBad found, RowIndicesToFirstBad(indices, limit));
  WEIR_RETURN_IF_ERROR(found.bad);
  return std::move(found.rows);
}

StatusOr<SliceIndices> ResolveSlices(const Tensor& indices, const Shape& shape, bool vector_is_column) {
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> values, IndexValues(indices));
  SliceIndices out;
  bool is_column = vector_is_column && indices.rank() == 1;
  out.depth = is_column ? 1 : static_cast<int>(indices.dim(indices.rank() - 1));
  out.outer = is_column ? indices.shape() : indices.shape().Slice(0, indices.rank() - 1);
  out.slice_size = shape.Slice(out.depth, shape.rank()).num_elements();
  out.rows.resize(static_cast<size_t>(out.outer.num_elements()));
  for (size_t row = 0; row < out.rows.size(); ++row) {
    int64_t slice = 0;
    for (int d = 0; d < out.depth; ++d) {
      int64_t index = values[row * out.depth + d];
      if (index < 0 || index >= shape.dim(d)) {
        slice = -1;
        break;
      }
      slice = slice * shape.dim(d) + index;
    }
    out.rows[row] = slice;
    if (slice < 0 && out.first_bad < 0) out.first_bad = static_cast<int64_t>(row);
  }
  return out;
}

std::string RowText(const Tensor& indices, int64_t row, int depth, std::string_view separator) {
  auto values = IndexValues(indices);
  if (!values.ok()) return "[]";
  std::string out = "[";
  for (int d = 0; d < depth; ++d) {
    out += Cat(d > 0 ? separator : std::string_view(), (*values)[static_cast<size_t>(row * depth + d)]);
  }
  return out + "]";
}

}  // namespace weir::state
