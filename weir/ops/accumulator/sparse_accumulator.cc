#include <algorithm>

#include "weir/ops/accumulator/accumulator.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// Rows of a larger tensor, by index. A mean divides each row by the number of gradients that had it.
class SparseAccumulator : public Accumulator {
 public:
  using Accumulator::Accumulator;
  bool is_sparse() const override { return true; }
  std::string DebugString() const override { return "A sparse conditional accumulator"; }

 protected:
  Status AddLocked(const Tensors& gradient, int64_t count_before) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Tensor& indices = gradient[0];
    const Tensor& values = gradient[1];
    WEIR_RETURN_IF_ERROR(Check(indices, values, gradient.size() > 2 ? gradient[2] : Tensor()));
    auto rows = indices.span<int64_t>();
    if (count_before == 0) {
      indices_.assign(rows.begin(), rows.end());
      counts_.assign(rows.size(), 1);
      values_ = values;
      return OkStatus();
    }
    WEIR_RETURN_IF_ERROR(CheckSameRows(values));
    return Merge(rows, values);
  }

  StatusOr<Tensors> FinishLocked(int64_t count) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (spec().is_mean && std::any_of(counts_.begin(), counts_.end(), [](int64_t n) { return n > 1; })) {
      if (!values_.unique()) {
        WEIR_ASSIGN_OR_RETURN(values_, values_.Clone());
      }
      int64_t row_bytes = RowSize() * static_cast<int64_t>(SizeOf(spec().dtype));
      char* data = static_cast<char*>(values_.raw_data());
      for (size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] > 1) DivideBy(spec().dtype, data + static_cast<int64_t>(i) * row_bytes, RowSize(), counts_[i]);
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor shape, Tensor::Allocate(DType::kInt64, Shape({values_.rank()})));
    shape.data<int64_t>()[0] = spec().shape.rank() > 0 ? spec().shape.dim(0) : PartialShape::kUnknown;
    for (int i = 1; i < values_.rank(); ++i) shape.data<int64_t>()[i] = values_.dim(i);
    Tensors out = {Tensor::Vector<int64_t>(std::span<const int64_t>(indices_)), std::exchange(values_, Tensor()),
                   std::move(shape)};
    indices_.clear();
    counts_.clear();
    return out;
  }

 private:
  int64_t RowSize() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return values_.shape().Slice(1, values_.rank()).num_elements();
  }

  Status Check(const Tensor& indices, const Tensor& values, const Tensor& shape) const {
    if (indices.rank() != 1) {
      return InvalidArgument("Input indices should be vector but received shape: ", indices.shape().ToString());
    }
    if (values.rank() == 0) return InvalidArgument("Values cannot be 0-dimensional.");
    if (indices.dim(0) != values.dim(0)) {
      return InvalidArgument("Expected ", indices.dim(0), " non-empty input values, got ", values.dim(0));
    }
    const PartialShape& expected = spec().shape;
    if (expected.rank() <= 0) return OkStatus();
    if (shape.has_value() && shape.num_elements() < expected.rank()) {
      return InvalidArgument("Shape mismatch: expected shape rank at least ", expected.rank(), ", got ",
                             shape.num_elements());
    }
    for (int64_t i = 0; shape.has_value() && i < std::min<int64_t>(shape.num_elements(), expected.rank()); ++i) {
      int64_t size = shape.data<int64_t>()[i];
      if (expected.dim(static_cast<int>(i)) >= 0 && expected.dim(static_cast<int>(i)) != size) {
        return InvalidArgument("Shape mismatch: expected shape dim ", i, " to be ", expected.dim(static_cast<int>(i)),
                               ", got ", size);
      }
    }
    if (values.rank() < expected.rank()) {
      return InvalidArgument("Shape mismatch: expected values rank at least ", expected.rank(), ", got ",
                             values.rank());
    }
    for (int i = 1; i < expected.rank(); ++i) {
      if (expected.dim(i) >= 0 && expected.dim(i) != values.dim(i)) {
        return InvalidArgument("Shape mismatch: expected values dim ", i, " to be ", expected.dim(i), ", got ",
                               values.dim(i));
      }
    }
    auto rows = indices.span<int64_t>();
    for (size_t i = 0; expected.dim(0) >= 0 && i < rows.size(); ++i) {
      if (rows[i] >= expected.dim(0)) {
        return InvalidArgument("Shape mismatch: index of slice ", i, " exceeded limits of shape; index is ", rows[i],
                               " exceeded ", expected.dim(0));
      }
    }
    return OkStatus();
  }

  Status CheckSameRows(const Tensor& values) const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    if (values.rank() != values_.rank()) {
      return InvalidArgument("Shape mismatch: expected values rank ", values_.rank(), ", got ", values.rank());
    }
    for (int i = 1; i < values.rank(); ++i) {
      if (values.dim(i) != values_.dim(i)) {
        return InvalidArgument("Shape mismatch: expected values dim ", i, " to be ", values_.dim(i), ", got ",
                               values.dim(i));
      }
    }
    return OkStatus();
  }

  // Merges two lists that are sorted by index, as gradients of embeddings are.
  Status Merge(std::span<const int64_t> rows, const Tensor& values) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    struct Row {
      int64_t index;
      int64_t count;
      int64_t old_row;  // -1: none
      int64_t new_row;
    };
    std::vector<Row> merged;
    merged.reserve(indices_.size() + rows.size());
    size_t i = 0;
    size_t j = 0;
    while (i < indices_.size() || j < rows.size()) {
      bool take_old = i < indices_.size() && (j == rows.size() || indices_[i] <= rows[j]);
      bool take_new = j < rows.size() && (i == indices_.size() || rows[j] <= indices_[i]);
      merged.push_back({take_old ? indices_[i] : rows[j], (take_old ? counts_[i] : 0) + (take_new ? 1 : 0),
                        take_old ? static_cast<int64_t>(i) : -1, take_new ? static_cast<int64_t>(j) : -1});
      if (take_old) ++i;
      if (take_new) ++j;
    }
    Shape shape = values_.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, static_cast<int64_t>(merged.size())));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(spec().dtype, shape));
    int64_t row_size = RowSize();
    int64_t row_bytes = row_size * static_cast<int64_t>(SizeOf(spec().dtype));
    indices_.resize(merged.size());
    counts_.resize(merged.size());
    for (size_t k = 0; k < merged.size(); ++k) {
      const Row& row = merged[k];
      int64_t place = static_cast<int64_t>(k) * row_size;
      if (row.old_row >= 0) CopyElements(values_, row.old_row * row_size, out, place, row_size);
      if (row.new_row >= 0 && row.old_row < 0) CopyElements(values, row.new_row * row_size, out, place, row_size);
      if (row.new_row >= 0 && row.old_row >= 0) {
        AddTo(spec().dtype, static_cast<const char*>(values.raw_data()) + row.new_row * row_bytes,
              static_cast<char*>(out.raw_data()) + static_cast<int64_t>(k) * row_bytes, row_size);
      }
      indices_[k] = row.index;
      counts_[k] = row.count;
    }
    values_ = std::move(out);
    return OkStatus();
  }

  std::vector<int64_t> indices_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> counts_ ABSL_GUARDED_BY(mu_);
  Tensor values_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<Accumulator> MakeSparseAccumulator(AccumulatorSpec spec) {
  return std::make_shared<SparseAccumulator>(std::move(spec));
}

}  // namespace weir
