#include "weir/ops/sparse/cross.h"

#include <algorithm>
#include <limits>

#include "weir/base/fingerprint.h"
#include "weir/io/coding.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

uint64_t Mix(uint64_t value) { return value ^ value >> 47; }

// Two fingerprints as one.
uint64_t JoinFingerprints(uint64_t a, uint64_t b) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995ull;
  uint64_t out = a ^ kFactor;
  out ^= Mix(b * kFactor) * kFactor;
  out *= kFactor;
  return Mix(Mix(out) * kFactor);
}

}  // namespace

StatusOr<Column> SparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  if (indices.rank() != 2) {
    return InvalidArgument("Input indices should be a matrix but received shape ", indices.shape().ToString());
  }
  if (shape.num_elements() != 2 || indices.dim(1) != 2) return InvalidArgument("Expected sparse inputs of rank 2");
  WEIR_ASSIGN_OR_RETURN(SparseInput input, MakeUnboundedSparse(indices, values, shape));
  const int64_t rows = input.shape.dim(0);
  if (rows > input.count() * 1024 + (int64_t{1} << 24)) return InvalidArgument("Too many rows to cross: ", rows);
  Column out{values, std::vector<int64_t>(static_cast<size_t>(rows) + 1, 0), true};
  // Entries that are out of order or outside end the walk: they, and those behind them, belong to no row.
  int64_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    while (at < input.count() && input.index(at)[0] == row) ++at;
    out.begins[row + 1] = at;
  }
  return out;
}

StatusOr<Column> DenseColumn(const Tensor& values) {
  if (values.rank() != 2) {
    return InvalidArgument("Dense inputs should be a matrix but received shape ", values.shape().ToString());
  }
  Column out{values, {}};
  for (int64_t row = 0; row <= values.dim(0); ++row) out.begins.push_back(row * values.dim(1));
  return out;
}

StatusOr<Column> RaggedColumn(const Tensor& values, const Tensor& row_splits) {
  if (values.rank() != 1) return InvalidArgument("tf.ragged.cross only supports inputs with rank=2.");
  if (row_splits.rank() != 1 || row_splits.num_elements() == 0) {
    return InvalidArgument("Invalid RaggedTensor: row_splits must be a vector that is not empty");
  }
  Column out{values, {}};
  auto read = [&](auto splits) { out.begins.assign(splits.begin(), splits.end()); };
  row_splits.dtype() == DType::kInt64 ? read(row_splits.span<int64_t>()) : read(row_splits.span<int32_t>());
  if (out.begins.front() != 0 || out.begins.back() != values.num_elements() ||
      !std::is_sorted(out.begins.begin(), out.begins.end())) {
    return InvalidArgument("Invalid RaggedTensor: row_splits must go from 0 to the number of values without falling");
  }
  return out;
}

StatusOr<int64_t> CountRows(const std::vector<Column>& columns) {
  if (columns.empty()) return 0;
  for (const Column& column : columns) {
    if (column.begins.size() == columns[0].begins.size()) continue;
    return InvalidArgument("Expected batch size ", columns[0].begins.size() - 1, " but found ",
                           column.begins.size() - 1);
  }
  return static_cast<int64_t>(columns[0].begins.size()) - 1;
}

void TextCrosser::Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
                      int64_t at) const {
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) text += separator_;
    const Tensor& values = columns[i].values;
    text += values.dtype() == DType::kString ? values.data<std::string>()[chosen[i]]
                                             : std::to_string(values.data<int64_t>()[chosen[i]]);
  }
  out.data<std::string>()[at] = std::move(text);
}

void HashCrosser::Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
                      int64_t at) const {
  std::optional<uint64_t> hash = start;
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint64_t one = HashOf(columns[i], chosen[i]);
    hash = hash ? JoinFingerprints(*hash, one) : one;
  }
  // Without buckets the result must still not be negative.
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  out.data<int64_t>()[at] = static_cast<int64_t>(hash.value_or(0) % (buckets > 0 ? buckets : kLargest));
}

uint64_t HashCrosser::HashOf(const Column& column, int64_t i) const {
  if (column.values.dtype() == DType::kString) return HashOf(column.values.data<std::string>()[i]);
  const int64_t number = column.values.data<int64_t>()[i];
  if (!column.is_sparse || !hashes_numbers) return static_cast<uint64_t>(number);
  std::string low;
  AppendFixed32(&low, static_cast<uint32_t>(number));
  return HashOf(low);
}

uint64_t HashCrosser::HashOf(const std::string& text) const { return key ? SipHash(*key, text) : Fingerprint64(text); }

StatusOr<Combinations> CountCombinations(const std::vector<Column>& columns, int64_t rows) {
  Combinations out{std::vector<int64_t>(static_cast<size_t>(rows), 1)};
  for (int64_t row = 0; row < rows; ++row) {
    for (const Column& column : columns) {
      out.counts[row] = CheckedMultiply(out.counts[row], column.count(row)).value_or(INT64_MAX);
    }
    const std::optional<int64_t> total = CheckedAdd(out.total, out.counts[row]);
    if (!total) return InvalidArgument("Too many combinations to cross");
    out.total = *total;
  }
  return out;
}

void PutCombinations(const std::vector<Column>& columns, const Combinations& combinations, const Crosser& crosser,
                     Tensor& out) {
  int64_t at = 0;
  std::vector<int64_t> chosen(columns.size());
  for (size_t row = 0; row < combinations.counts.size(); ++row) {
    for (int64_t k = 0; k < combinations.counts[row]; ++k, ++at) {
      int64_t left = k;
      for (size_t c = columns.size(); c-- > 0;) {
        const int64_t count = columns[c].count(static_cast<int64_t>(row));
        chosen[c] = columns[c].begins[row] + left % count;
        left /= count;
      }
      crosser.Put(columns, chosen, out, at);
    }
  }
}

}  // namespace weir
