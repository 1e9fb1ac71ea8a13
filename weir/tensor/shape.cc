#include "weir/tensor/shape.h"

#include <algorithm>
#include <cstdlib>

namespace weir {
namespace {

std::string DimsToString(std::span<const int64_t> dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ',';
    if (dims[i] < 0) {
      out += '?';
    } else {
      absl::StrAppend(&out, dims[i]);
    }
  }
  out += ']';
  return out;
}

// The product must fit even without its zeros: then every part of a shape is a shape too.
Status CheckDims(std::span<const int64_t> dims, int64_t lowest) {
  if (dims.size() > static_cast<size_t>(Shape::kMaxRank)) return InvalidArgument("Too many dimensions in tensor");
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim < lowest) return InvalidArgument("Dimension ", dim, " must be >= ", lowest);
    if (dim <= 0) continue;
    std::optional<int64_t> next = CheckedMultiply(product, dim);
    if (!next) {
      return InvalidArgument("Encountered overflow when multiplying ", product, " with ", dim, ", shape ",
                             DimsToString(dims), " has too many elements");
    }
    product = *next;
  }
  return OkStatus();
}

}  // namespace

std::optional<int64_t> CheckedMultiply(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

Shape::Shape(std::initializer_list<int64_t> dims) : dims_(dims) {
  if (!CheckDims(this->dims(), 0).ok()) std::abort();
  Recount();
}

StatusOr<Shape> Shape::Make(std::span<const int64_t> dims) {
  WEIR_RETURN_IF_ERROR(CheckDims(dims, 0));
  Shape out;
  out.dims_.assign(dims.begin(), dims.end());
  out.Recount();
  return out;
}

void Shape::Recount() {
  num_elements_ = 1;
  for (int64_t dim : dims_) num_elements_ *= dim;
}

Status Shape::AddDim(int64_t size) { return InsertDim(rank(), size); }

Status Shape::InsertDim(int index, int64_t size) {
  if (index < 0 || index > rank()) return InvalidArgument("Cannot insert dimension ", index, " into ", ToString());
  auto dims = dims_;
  dims.insert(dims.begin() + index, size);
  WEIR_RETURN_IF_ERROR(CheckDims(dims, 0));
  dims_ = std::move(dims);
  Recount();
  return OkStatus();
}

Status Shape::SetDim(int index, int64_t size) {
  if (index < 0 || index >= rank()) return InvalidArgument("Cannot set dimension ", index, " of ", ToString());
  auto dims = dims_;
  dims[index] = size;
  WEIR_RETURN_IF_ERROR(CheckDims(dims, 0));
  dims_ = std::move(dims);
  Recount();
  return OkStatus();
}

void Shape::RemoveDim(int index) {
  dims_.erase(dims_.begin() + index);
  Recount();
}

Shape Shape::Slice(int begin, int end) const {
  Shape out;
  begin = std::clamp(begin, 0, rank());
  end = std::clamp(end, begin, rank());
  out.dims_.assign(dims_.begin() + begin, dims_.begin() + end);
  out.Recount();
  return out;
}

StatusOr<Shape> Shape::Concat(const Shape& other) const {
  Shape out = *this;
  out.dims_.insert(out.dims_.end(), other.dims_.begin(), other.dims_.end());
  WEIR_RETURN_IF_ERROR(CheckDims(out.dims(), 0));
  out.Recount();
  return out;
}

std::string Shape::ToString() const { return DimsToString(dims()); }

StatusOr<PartialShape> PartialShape::Make(std::span<const int64_t> dims) {
  WEIR_RETURN_IF_ERROR(CheckDims(dims, kUnknown));
  PartialShape out;
  out.known_rank_ = true;
  out.dims_.assign(dims.begin(), dims.end());
  return out;
}

PartialShape PartialShape::UnknownOfRank(int rank) {
  PartialShape out;
  out.known_rank_ = true;
  out.dims_.assign(rank, kUnknown);
  return out;
}

bool PartialShape::IsFullyDefined() const {
  return known_rank_ && std::ranges::all_of(dims_, [](int64_t dim) { return dim >= 0; });
}

std::optional<Shape> PartialShape::ToShape() const {
  if (!IsFullyDefined()) return std::nullopt;
  StatusOr<Shape> shape = Shape::Make(dims_);
  if (!shape.ok()) return std::nullopt;
  return *std::move(shape);
}

int64_t PartialShape::num_elements() const {
  std::optional<Shape> shape = ToShape();
  return shape ? shape->num_elements() : -1;
}

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (dims_.size() != other.dims_.size()) return false;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] >= 0 && other.dims_[i] >= 0 && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

StatusOr<PartialShape> PartialShape::Merge(const PartialShape& other) const {
  if (!IsCompatibleWith(other)) {
    return InvalidArgument("Incompatible shapes during merge: ", ToString(), " vs. ", other.ToString());
  }
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  PartialShape out = *this;
  for (size_t i = 0; i < dims_.size(); ++i) out.dims_[i] = std::max(dims_[i], other.dims_[i]);
  return out;
}

std::string PartialShape::ToString() const { return known_rank_ ? DimsToString(dims_) : "<unknown>"; }

}  // namespace weir
