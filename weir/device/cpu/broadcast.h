// Broadcasting: how operands of different shapes line up under one output, as few long runs.
#ifndef WEIR_DEVICE_CPU_BROADCAST_H_
#define WEIR_DEVICE_CPU_BROADCAST_H_

#include <array>
#include <span>

#include "absl/container/inlined_vector.h"
#include "weir/tensor/shape.h"

namespace weir {

// INVALID_ARGUMENT "Incompatible shapes: [2] vs. [3]" if they do not broadcast.
StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b);
bool CanBroadcast(const Shape& a, const Shape& b);

// The output as `rows` runs of `run` consecutive elements. Along a run each operand either moves with the output
// (step 1) or stays (step 0). Dimensions that behave alike are merged, so that same shapes are one run.
class BroadcastRuns {
 public:
  static constexpr int kMaxOperands = 3;

  // REQUIRES: every operand broadcasts to `output`, which has elements; at most kMaxOperands.
  BroadcastRuns(const Shape& output, std::span<const Shape* const> operands);

  int64_t rows() const { return rows_; }
  int64_t run() const { return run_; }
  int step(int operand) const { return step_[operand]; }

  // Calls body(output offset, operand offsets) in elements for rows [begin, end).
  template <typename Body>
  void ForRows(int64_t begin, int64_t end, Body&& body) const {
    if (begin >= end) return;
    Cursor cursor = At(begin);
    for (int64_t row = begin;; Advance(cursor)) {
      body(row * run_, cursor.offsets);
      if (++row == end) break;
    }
  }

 private:
  using Offsets = std::array<int64_t, kMaxOperands>;
  struct Dim {
    int64_t size;
    Offsets strides;
  };
  struct Cursor {
    absl::InlinedVector<int64_t, 8> index;
    Offsets offsets{};
  };
  Cursor At(int64_t row) const;
  void Advance(Cursor& cursor) const;

  int64_t rows_ = 1;
  int64_t run_ = 1;
  std::array<int, kMaxOperands> step_{};
  absl::InlinedVector<Dim, 8> outer_;  // innermost first, without the run itself
};

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_BROADCAST_H_
