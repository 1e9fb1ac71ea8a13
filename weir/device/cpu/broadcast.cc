#include "weir/device/cpu/broadcast.h"

#include <algorithm>

namespace weir {
namespace {

// Size of dimension `i` counted from the last; 1 beyond the rank.
int64_t FromBack(const Shape& shape, int i) { return i < shape.rank() ? shape.dim(shape.rank() - 1 - i) : 1; }

}  // namespace

bool CanBroadcast(const Shape& a, const Shape& b) {
  int common = std::min(a.rank(), b.rank());
  for (int i = 0; i < common; ++i) {
    int64_t x = FromBack(a, i), y = FromBack(b, i);
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  if (!CanBroadcast(a, b)) {
    return InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString());
  }
  int rank = std::max(a.rank(), b.rank());
  absl::InlinedVector<int64_t, 8> dims(rank);
  for (int i = 0; i < rank; ++i) {
    int64_t x = FromBack(a, i), y = FromBack(b, i);
    dims[rank - 1 - i] = x == 1 ? y : x;
  }
  return Shape::Make(dims);
}

BroadcastRuns::BroadcastRuns(const Shape& output, std::span<const Shape* const> operands) {
  struct Group {
    int64_t size;
    unsigned moving;  // bit k: operand k has this dimension
  };
  absl::InlinedVector<Group, 8> groups;  // innermost first
  for (int i = 0; i < output.rank(); ++i) {
    int64_t size = FromBack(output, i);
    if (size == 1) continue;
    unsigned moving = 0;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (FromBack(*operands[k], i) != 1) moving |= 1u << k;
    }
    if (!groups.empty() && groups.back().moving == moving) {
      groups.back().size *= size;
    } else {
      groups.push_back({size, moving});
    }
  }
  if (groups.empty()) return;
  run_ = groups[0].size;
  Offsets strides;
  for (size_t k = 0; k < operands.size(); ++k) {
    step_[k] = (groups[0].moving >> k) & 1;
    strides[k] = step_[k] ? run_ : 1;
  }
  for (size_t g = 1; g < groups.size(); ++g) {
    Dim dim{groups[g].size, {}};
    for (size_t k = 0; k < operands.size(); ++k) {
      bool moves = (groups[g].moving >> k) & 1;
      dim.strides[k] = moves ? strides[k] : 0;
      if (moves) strides[k] *= dim.size;
    }
    rows_ *= dim.size;
    outer_.push_back(dim);
  }
}

BroadcastRuns::Cursor BroadcastRuns::At(int64_t row) const {
  Cursor cursor;
  cursor.index.resize(outer_.size());
  for (size_t d = 0; d < outer_.size(); ++d) {
    cursor.index[d] = row % outer_[d].size;
    row /= outer_[d].size;
    for (int k = 0; k < kMaxOperands; ++k) cursor.offsets[k] += cursor.index[d] * outer_[d].strides[k];
  }
  return cursor;
}

void BroadcastRuns::Advance(Cursor& cursor) const {
  for (size_t d = 0; d < outer_.size(); ++d) {
    for (int k = 0; k < kMaxOperands; ++k) cursor.offsets[k] += outer_[d].strides[k];
    if (++cursor.index[d] < outer_[d].size) return;
    for (int k = 0; k < kMaxOperands; ++k) cursor.offsets[k] -= outer_[d].size * outer_[d].strides[k];
    cursor.index[d] = 0;
  }
}

}  // namespace weir
