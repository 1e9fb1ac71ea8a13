#include "weir/io/tensor_slice.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "weir/io/coding.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

bool ParseExtent(absl::string_view text, TensorSlice::Extent* extent) {
  if (text == "-") return true;
  std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(text, absl::MaxSplits(',', 1));
  return absl::SimpleAtoi(halves.first, &extent->start) && absl::SimpleAtoi(halves.second, &extent->length) &&
         extent->start >= 0 && extent->length > 0;
}

}  // namespace

TensorSlice TensorSlice::Full(int rank) {
  TensorSlice out;
  out.extents_.resize(static_cast<size_t>(rank));
  return out;
}

StatusOr<TensorSlice> TensorSlice::Parse(std::string_view text) {
  TensorSlice out;
  if (text.empty()) return out;
  for (absl::string_view item : absl::StrSplit(ToAbsl(text), ':')) {
    Extent extent;
    if (!ParseExtent(item, &extent)) {
      return InvalidArgument("Expected a pair of numbers or '-' but got '", std::string(item), "': string = ", text);
    }
    out.extents_.push_back(extent);
  }
  if (out.rank() > Shape::kMaxRank) return InvalidArgument("A slice of ", out.rank(), " dimensions");
  return out;
}

StatusOr<TensorSlice> TensorSlice::FromProto(const TensorSliceProto& proto) {
  TensorSlice out;
  if (proto.extent_size() > Shape::kMaxRank) return InvalidArgument("A slice of ", proto.extent_size(), " dimensions");
  for (const auto& extent : proto.extent()) {
    Extent item;
    if (extent.has_length_hack_case() == TensorSliceProto::Extent::kLength) item = {extent.start(), extent.length()};
    bool full = item.length == kFull;
    if (full ? item.start != 0 : item.start < 0 || item.length < 0) {
      return InvalidArgument("A slice from ", item.start, " of length ", item.length);
    }
    out.extents_.push_back(item);
  }
  return out;
}

void TensorSlice::ToProto(TensorSliceProto* proto) const {
  proto->Clear();
  for (const Extent& extent : extents_) {
    TensorSliceProto::Extent* item = proto->add_extent();
    if (extent.length == kFull) continue;
    item->set_start(extent.start);
    item->set_length(extent.length);
  }
}

StatusOr<TensorSlice> TensorSlice::ClippedTo(const Shape& shape) const {
  if (shape.rank() != rank()) {
    return InvalidArgument("Mismatching ranks: shape = ", shape.ToString(), ", slice = ", ToString());
  }
  TensorSlice out = *this;
  for (int i = 0; i < rank(); ++i) {
    Extent& extent = out.extents_[i];
    if (extent.length == kFull) extent.length = shape.dim(i);
    if (extent.start > shape.dim(i) || extent.length > shape.dim(i) - extent.start) {
      return InvalidArgument("Extent in dimension ", i, " out of bounds: shape = ", shape.ToString(),
                             ", slice = ", ToString());
    }
  }
  return out;
}

std::optional<TensorSlice> TensorSlice::Intersect(const TensorSlice& other) const {
  TensorSlice out;
  for (int i = 0; i < rank(); ++i) {
    int64_t begin = std::max(extents_[i].start, other.extents_[i].start);
    int64_t end = std::min(extents_[i].start + extents_[i].length, other.extents_[i].start + other.extents_[i].length);
    if (begin >= end) return std::nullopt;
    out.extents_.push_back({begin, end - begin});
  }
  return out;
}

StatusOr<Shape> TensorSlice::shape() const {
  std::vector<int64_t> dims;
  for (const Extent& extent : extents_) dims.push_back(extent.length);
  return Shape::Make(dims);
}

std::string TensorSlice::ToString() const {
  std::string out;
  for (const Extent& extent : extents_) {
    if (!out.empty()) out += ':';
    out += extent.length == kFull ? "-" : Cat(extent.start, ",", extent.length);
  }
  return out;
}

std::string TensorSlice::Key(std::string_view name) const {
  std::string key;
  AppendOrderedNumber(&key, 0);
  AppendOrderedString(&key, name);
  AppendOrderedNumber(&key, static_cast<uint64_t>(rank()));
  for (const Extent& extent : extents_) {
    AppendOrderedSigned(&key, extent.start);
    AppendOrderedSigned(&key, extent.length);
  }
  return key;
}

StatusOr<ShapeAndSlice> ParseShapeAndSlice(std::string_view text) {
  std::vector<std::string> words = absl::StrSplit(ToAbsl(text), ' ', absl::SkipEmpty());
  if (words.empty()) {
    return InvalidArgument("Expected a shape and a slice in a shape_and_slice specification, got '", text, "'");
  }
  // A scalar has no sizes and no slice at all.
  std::string spec = words.back();
  words.pop_back();
  std::vector<int64_t> dims;
  for (const std::string& word : words) {
    int64_t size;
    if (!absl::SimpleAtoi(word, &size) || size < 0) {
      return InvalidArgument("Non numerical dimension in shape_and_slice: ", text);
    }
    dims.push_back(size);
  }
  ShapeAndSlice out;
  WEIR_ASSIGN_OR_RETURN(out.shape, Shape::Make(dims));
  WEIR_ASSIGN_OR_RETURN(out.slice, TensorSlice::Parse(spec));
  WEIR_RETURN_IF_ERROR(out.slice.ClippedTo(out.shape).status());
  return out;
}

void CopyPart(const TensorSlice& part, const Tensor& from, const TensorSlice& from_box, Tensor& to,
              const TensorSlice& to_box) {
  int rank = part.rank();
  if (rank == 0) return CopyElements(from, 0, to, 0, 1);
  std::vector<int64_t> from_strides(rank, 1), to_strides(rank, 1);
  for (int i = rank - 2; i >= 0; --i) {
    from_strides[i] = from_strides[i + 1] * from_box.extent(i + 1).length;
    to_strides[i] = to_strides[i + 1] * to_box.extent(i + 1).length;
  }
  int64_t from_begin = 0, to_begin = 0, rows = 1;
  for (int i = 0; i < rank; ++i) {
    from_begin += (part.extent(i).start - from_box.extent(i).start) * from_strides[i];
    to_begin += (part.extent(i).start - to_box.extent(i).start) * to_strides[i];
    if (i + 1 < rank) rows *= part.extent(i).length;
  }
  std::vector<int64_t> index(rank, 0);
  for (int64_t row = 0; row < rows; ++row) {
    CopyElements(from, from_begin, to, to_begin, part.extent(rank - 1).length);
    for (int i = rank - 2; i >= 0; --i) {
      from_begin += from_strides[i];
      to_begin += to_strides[i];
      if (++index[i] < part.extent(i).length) break;
      from_begin -= from_strides[i] * part.extent(i).length;
      to_begin -= to_strides[i] * part.extent(i).length;
      index[i] = 0;
    }
  }
}

}  // namespace weir
