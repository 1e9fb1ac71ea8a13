#include "weir/ops/sparse/sparse_input.h"

#include <algorithm>
#include <numeric>

namespace weir {
namespace {

std::string IndexText(const int64_t* index, int rank) {
  std::string text = "[";
  for (int d = 0; d < rank; ++d) absl::StrAppend(&text, d > 0 ? "," : "", index[d]);
  return text + "]";
}

}  // namespace

int64_t SparseInput::place(int64_t row) const {
  int64_t place = 0;
  for (int d = 0; d < rank(); ++d) place = place * shape.dim(d) + index(row)[d];
  return place;
}

std::optional<int64_t> SparseInput::FirstOutside() const {
  for (int64_t row = 0; row < count(); ++row) {
    for (int d = 0; d < rank(); ++d) {
      if (index(row)[d] < 0 || index(row)[d] >= shape.dim(d)) return row;
    }
  }
  return std::nullopt;
}

std::vector<int64_t> SparseInput::SortedRows() const {
  std::vector<int64_t> rows(count());
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [this](int64_t a, int64_t b) {
    return std::lexicographical_compare(index(a), index(a) + rank(), index(b), index(b) + rank());
  });
  return rows;
}

StatusOr<Shape> SparseShape(const Tensor& tensor) {
  if (tensor.dtype() != DType::kInt64 || !tensor.shape().IsVector()) {
    return InvalidArgument("Input shape should be a vector but received shape ", tensor.shape().ToString());
  }
  return Shape::Make(tensor.span<int64_t>());
}

Tensor ShapeVector(const Shape& shape) { return Tensor::Vector<int64_t>(shape.dims()); }

StatusOr<SparseInput> MakeUnboundedSparse(Tensor indices, Tensor values, const Tensor& shape) {
  if (!indices.shape().IsMatrix()) {
    return InvalidArgument("Input indices should be a matrix but received shape ", indices.shape().ToString());
  }
  if (!values.shape().IsVector()) {
    return InvalidArgument("Input values should be a vector but received shape ", values.shape().ToString());
  }
  SparseInput out{std::move(indices), std::move(values), Shape()};
  WEIR_ASSIGN_OR_RETURN(out.shape, SparseShape(shape));
  if (out.values.dim(0) != out.indices.dim(0)) {
    return InvalidArgument("Number of values must match first dimension of indices. Got ", out.values.dim(0),
                           " values, indices shape: ", out.indices.shape().ToString());
  }
  if (out.shape.rank() != out.indices.dim(1)) {
    return InvalidArgument("Number of dimensions must match second dimension of indices. Got ", out.shape.rank(),
                           " dimensions, indices shape: ", out.indices.shape().ToString());
  }
  return out;
}

StatusOr<SparseInput> MakeSparse(Tensor indices, Tensor values, const Tensor& shape, bool ordered) {
  WEIR_ASSIGN_OR_RETURN(SparseInput out, MakeUnboundedSparse(std::move(indices), std::move(values), shape));
  for (int64_t row = 0; row < out.count(); ++row) {
    const int64_t* index = out.index(row);
    for (int d = 0; d < out.rank(); ++d) {
      if (index[d] < 0 || index[d] >= out.shape.dim(d)) {
        return InvalidArgument("indices[", row, "] = ", IndexText(index, out.rank()),
                               " is out of bounds: need 0 <= index < ", out.shape.ToString());
      }
    }
    if (!ordered || row == 0) continue;
    const int64_t* before = out.index(row - 1);
    if (std::lexicographical_compare(before, before + out.rank(), index, index + out.rank())) continue;
    if (std::equal(before, before + out.rank(), index)) {
      return InvalidArgument("indices[", row, "] = ", IndexText(index, out.rank()), " is repeated");
    }
    return InvalidArgument("indices[", row, "] = ", IndexText(index, out.rank()),
                           " is out of order. Many sparse ops require sorted indices.\n"
                           "  Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n");
  }
  return out;
}

StatusOr<SparseInput> ReadSparse(KernelContext& ctx, int first, bool ordered) {
  return MakeSparse(ctx.input(first), ctx.input(first + 1), ctx.input(first + 2), ordered);
}

StatusOr<Tensor> IndexMatrix(std::span<const int64_t> indices, int64_t count, int rank) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kInt64, Shape({count, rank})));
  std::copy(indices.begin(), indices.end(), out.data<int64_t>());
  return out;
}

StatusOr<Tensor> TakeRows(const Tensor& values, std::span<const int64_t> rows) {
  Shape shape = values.shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, static_cast<int64_t>(rows.size())));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(values.dtype(), shape));
  const int64_t row = shape.Slice(1, shape.rank()).num_elements();
  const int64_t bytes = row * static_cast<int64_t>(SizeOf(values.dtype()));
  for (size_t i = 0; i < rows.size(); ++i) {
    CopyElements(values.dtype(), static_cast<const char*>(values.raw_data()) + rows[i] * bytes,
                 static_cast<char*>(out.raw_data()) + static_cast<int64_t>(i) * bytes, row);
  }
  return out;
}

Status SparseOutput::Write(KernelContext& ctx, int indices_output, int values_output, const Tensor& values) const {
  WEIR_ASSIGN_OR_RETURN(Tensor matrix, IndexMatrix(indices, static_cast<int64_t>(rows.size()), rank));
  WEIR_ASSIGN_OR_RETURN(Tensor taken, TakeRows(values, rows));
  ctx.set_output(indices_output, std::move(matrix));
  ctx.set_output(values_output, std::move(taken));
  return OkStatus();
}

}  // namespace weir
