#include "weir/serving/batch_tensors.h"

#include <cstring>

namespace weir {
namespace {

// Copies elements of one row, of the sizes `from`, into the corner of a row of the sizes `to`.
void CopyCorner(const char* in, std::span<const int64_t> from, char* out, std::span<const int64_t> to, DType dtype) {
  const size_t size = SizeOf(dtype);
  if (from.empty() || std::equal(from.begin(), from.end(), to.begin())) {
    int64_t count = 1;
    for (int64_t dim : from) count *= dim;
    if (dtype == DType::kString) {
      auto* strings = reinterpret_cast<const std::string*>(in);
      std::copy(strings, strings + count, reinterpret_cast<std::string*>(out));
    } else if (count > 0) {
      std::memcpy(out, in, static_cast<size_t>(count) * size);
    }
    return;
  }
  size_t in_step = size, out_step = size;
  for (int64_t dim : from.subspan(1)) in_step *= static_cast<size_t>(dim);
  for (int64_t dim : to.subspan(1)) out_step *= static_cast<size_t>(dim);
  for (int64_t i = 0; i < from[0]; ++i) {
    CopyCorner(in + i * in_step, from.subspan(1), out + i * out_step, to.subspan(1), dtype);
  }
}

}  // namespace

bool RowsFit(const Tensor& a, const Tensor& b, bool pad) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank() || a.rank() == 0) return false;
  if (pad) return true;
  for (int i = 1; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) return false;
  }
  return true;
}

StatusOr<Tensor> ConcatRows(std::span<const Tensor* const> tensors, int64_t rows, bool pad) {
  const Tensor& first = *tensors[0];
  std::vector<int64_t> dims(first.shape().dims().begin(), first.shape().dims().end());
  bool differ = false;
  int64_t given = 0;
  for (const Tensor* tensor : tensors) {
    if (tensor->dtype() != first.dtype() || tensor->rank() != first.rank() || first.rank() == 0) {
      return InvalidArgument("inputs of different types or ranks cannot be batched");
    }
    given += tensor->dim(0);
    for (int i = 1; i < first.rank(); ++i) {
      differ = differ || tensor->dim(i) != dims[i];
      dims[i] = std::max(dims[i], tensor->dim(i));
    }
  }
  if (differ && !pad) {
    return FailedPrecondition("Tensors of one batch have different shapes; set pad_variable_length_inputs to pad them");
  }
  if (!IsPlain(first.dtype()) && first.dtype() != DType::kString) {
    return InvalidArgument("inputs of this type cannot be batched");
  }
  rows = std::max(rows, given);
  dims[0] = rows;
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  WEIR_ASSIGN_OR_RETURN(Tensor out,
                        differ ? Tensor::Zeros(first.dtype(), shape) : Tensor::Allocate(first.dtype(), shape));
  std::span<const int64_t> out_row = std::span<const int64_t>(dims).subspan(1);
  size_t out_bytes = SizeOf(first.dtype());
  for (int64_t dim : out_row) out_bytes *= static_cast<size_t>(dim);
  char* at = static_cast<char*>(out.raw_data());
  auto append = [&](const Tensor& tensor, int64_t count) {
    std::span<const int64_t> row = tensor.shape().dims().subspan(1);
    size_t bytes = SizeOf(first.dtype());
    for (int64_t dim : row) bytes *= static_cast<size_t>(dim);
    const char* in = static_cast<const char*>(tensor.raw_data());
    if (!differ) {
      CopyCorner(in, std::vector<int64_t>{count, static_cast<int64_t>(bytes / SizeOf(first.dtype()))}, at,
                 std::vector<int64_t>{count, static_cast<int64_t>(bytes / SizeOf(first.dtype()))}, first.dtype());
      at += static_cast<size_t>(count) * out_bytes;
      return;
    }
    for (int64_t i = 0; i < count; ++i, at += out_bytes) CopyCorner(in + i * bytes, row, at, out_row, first.dtype());
  };
  for (const Tensor* tensor : tensors) append(*tensor, tensor->dim(0));
  for (int64_t i = given; i < rows; ++i) append(*tensors.back(), 1);
  return out;
}

}  // namespace weir
