// TensorSlice: a box in a tensor, as checkpoints name the parts of a partitioned variable.
#ifndef WEIR_IO_TENSOR_SLICE_H_
#define WEIR_IO_TENSOR_SLICE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

class TensorSliceProto;  // wire format

class TensorSlice {
 public:
  static constexpr int64_t kFull = -1;
  struct Extent {
    int64_t start = 0;
    int64_t length = kFull;  // kFull: the whole dimension, start is 0
    bool operator==(const Extent&) const = default;
  };

  // All of a tensor.
  static TensorSlice Full(int rank);
  // "-:0,2": an item a dimension, `-` or "start,length". INVALID_ARGUMENT otherwise.
  static StatusOr<TensorSlice> Parse(std::string_view text);
  static StatusOr<TensorSlice> FromProto(const TensorSliceProto& proto);
  void ToProto(TensorSliceProto* proto) const;

  int rank() const { return static_cast<int>(extents_.size()); }
  const Extent& extent(int i) const { return extents_[i]; }
  // The box with every length known. INVALID_ARGUMENT if it does not lie in `shape`.
  StatusOr<TensorSlice> ClippedTo(const Shape& shape) const;
  // What two boxes have in common; nothing if they do not touch. REQUIRES: same rank, every length known.
  std::optional<TensorSlice> Intersect(const TensorSlice& other) const;
  // REQUIRES: every length known.
  StatusOr<Shape> shape() const;
  std::string ToString() const;
  // The key under which a table holds this slice of tensor `name`.
  std::string Key(std::string_view name) const;

 private:
  std::vector<Extent> extents_;
};

// A shape_and_slice of SaveV2 and RestoreV2: "4 5 0,2:-".
struct ShapeAndSlice {
  Shape shape;
  TensorSlice slice;  // lies in it; a whole dimension may be written either way
};
StatusOr<ShapeAndSlice> ParseShapeAndSlice(std::string_view text);

// Copies the box `part` from `from` to `to`; each of these holds the box of the whole tensor named beside it.
// REQUIRES: same type and rank, every length known; `part` lies in both boxes.
void CopyPart(const TensorSlice& part, const Tensor& from, const TensorSlice& from_box, Tensor& to,
              const TensorSlice& to_box);

}  // namespace weir

#endif  // WEIR_IO_TENSOR_SLICE_H_
