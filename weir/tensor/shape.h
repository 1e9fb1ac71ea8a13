// Shapes: Shape is fully known; PartialShape may lack dimensions (-1) or its rank.
#ifndef WEIR_TENSOR_SHAPE_H_
#define WEIR_TENSOR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

// Overflow-checked arithmetic on sizes: nothing if the result does not fit an int64.
std::optional<int64_t> CheckedMultiply(int64_t a, int64_t b);
std::optional<int64_t> CheckedAdd(int64_t a, int64_t b);

// Dimensions are >= 0 and their product fits an int64, always: the checked constructors refuse anything else.
class Shape {
 public:
  static constexpr int kMaxRank = 254;

  Shape() = default;  // a scalar
  // REQUIRES: sizes known to be valid (literals, sizes taken from another Shape). Dies otherwise.
  Shape(std::initializer_list<int64_t> dims);
  // For sizes from outside. INVALID_ARGUMENT if negative, too many, or too large together.
  static StatusOr<Shape> Make(std::span<const int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  std::span<const int64_t> dims() const { return {dims_.data(), dims_.size()}; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return dims_.empty(); }
  bool IsVector() const { return dims_.size() == 1; }
  bool IsMatrix() const { return dims_.size() == 2; }

  // Each fails where the product would not fit.
  Status AddDim(int64_t size);
  Status InsertDim(int index, int64_t size);
  Status SetDim(int index, int64_t size);
  void RemoveDim(int index);
  // dims [begin, end)
  Shape Slice(int begin, int end) const;
  StatusOr<Shape> Concat(const Shape& other) const;

  bool operator==(const Shape& other) const { return dims_ == other.dims_; }
  std::string ToString() const;  // "[2,3]"

 private:
  void Recount();
  absl::InlinedVector<int64_t, 4> dims_;
  int64_t num_elements_ = 1;
};

class PartialShape {
 public:
  static constexpr int64_t kUnknown = -1;

  PartialShape() = default;  // unknown rank
  PartialShape(const Shape& shape) : known_rank_(true), dims_(shape.dims().begin(), shape.dims().end()) {}
  PartialShape(std::initializer_list<int64_t> dims) : known_rank_(true), dims_(dims) {}
  // INVALID_ARGUMENT if a size is below -1, or the known ones are too large together.
  static StatusOr<PartialShape> Make(std::span<const int64_t> dims);
  static PartialShape Unknown() { return {}; }
  static PartialShape UnknownOfRank(int rank);

  bool has_rank() const { return known_rank_; }
  int rank() const { return known_rank_ ? static_cast<int>(dims_.size()) : -1; }
  int64_t dim(int i) const { return dims_[i]; }  // -1 if unknown
  void set_dim(int i, int64_t size) { dims_[i] = size; }
  void add_dim(int64_t size) { dims_.push_back(size); }
  std::span<const int64_t> dims() const { return dims_; }

  bool IsFullyDefined() const;
  std::optional<Shape> ToShape() const;  // nothing unless fully defined
  int64_t num_elements() const;          // -1 unless fully defined
  bool IsCompatibleWith(const PartialShape& other) const;
  // What both say; INVALID_ARGUMENT if they contradict each other.
  StatusOr<PartialShape> Merge(const PartialShape& other) const;
  bool operator==(const PartialShape& other) const = default;
  std::string ToString() const;  // "[2,?]", "<unknown>"

 private:
  bool known_rank_ = false;
  std::vector<int64_t> dims_;
};

}  // namespace weir

#endif  // WEIR_TENSOR_SHAPE_H_
