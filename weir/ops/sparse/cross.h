// Columns of features, and what is made of one value from each.
#ifndef WEIR_OPS_SPARSE_CROSS_H_
#define WEIR_OPS_SPARSE_CROSS_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir {

// A column of features, sparse, ragged or dense: the values of each row.
struct Column {
  Tensor values;
  std::vector<int64_t> begins;  // of the rows in `values`, and one more
  bool is_sparse = false;
  int64_t count(int64_t row) const { return begins[row + 1] - begins[row]; }
};
StatusOr<Column> SparseColumn(const Tensor& indices, const Tensor& values, const Tensor& shape);
StatusOr<Column> DenseColumn(const Tensor& values);
StatusOr<Column> RaggedColumn(const Tensor& values, const Tensor& row_splits);
// INVALID_ARGUMENT unless all have as many rows; the number of rows, 0 without columns.
StatusOr<int64_t> CountRows(const std::vector<Column>& columns);

// What is made of the values that are crossed.
class Crosser {
 public:
  virtual ~Crosser() = default;
  // `chosen` has a place in every column's values.
  virtual void Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
                   int64_t at) const = 0;
};

// The values as text, joined.
class TextCrosser : public Crosser {
 public:
  explicit TextCrosser(std::string separator) : separator_(std::move(separator)) {}
  void Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
           int64_t at) const override;

 private:
  const std::string separator_;
};

class HashCrosser : public Crosser {
 public:
  uint64_t buckets = 0;
  std::optional<uint64_t> start;               // what the first value is joined to, if anything
  std::optional<std::array<uint64_t, 2>> key;  // of a strong hash
  // Whether numbers of sparse columns are hashed, by their lower four bytes; all others stand for themselves.
  bool hashes_numbers = false;
  void Put(const std::vector<Column>& columns, const std::vector<int64_t>& chosen, Tensor& out,
           int64_t at) const override;

 private:
  uint64_t HashOf(const Column& column, int64_t i) const;
  uint64_t HashOf(const std::string& text) const;
};

// How many combinations each row has. INVALID_ARGUMENT if they cannot be counted.
struct Combinations {
  std::vector<int64_t> counts;  // by row
  int64_t total = 0;
};
StatusOr<Combinations> CountCombinations(const std::vector<Column>& columns, int64_t rows);
// All combinations of all rows, one after the other; the last column changes fastest.
void PutCombinations(const std::vector<Column>& columns, const Combinations& combinations, const Crosser& crosser,
                     Tensor& out);

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_CROSS_H_
