// Pieces: a large operation as several small ones, each for one thread, on the step's own threads.
#ifndef WEIR_DEVICE_CPU_ONEDNN_PIECES_INTERNAL_H_
#define WEIR_DEVICE_CPU_ONEDNN_PIECES_INTERNAL_H_

#include <memory>
#include <span>

#include "absl/container/inlined_vector.h"
#include "weir/device/cpu/onednn/operation_internal.h"

namespace weir::onednn {

// Columns of a larger matrix, for an argument that the library only takes without gaps: the piece uses a copy.
struct Columns {
  int64_t rows = 0, columns = 0;  // none: there is no such argument
  int64_t stride = 0;             // of the larger matrix's rows
  float* at = nullptr;
  size_t argument = 0;
  bool is_result = false;
  // Of a result, done when it is stored.
  const float* addend = nullptr;  // not null: added; lies as the columns do, and may be they
  bool relu = false;              // only with an addend
  size_t bytes() const { return static_cast<size_t>(rows * columns) * sizeof(float); }
  void Load(float* to) const;
  void Store(const float* from) const;
};

struct Piece {
  std::shared_ptr<const Operation> operation;
  absl::InlinedVector<void*, 8> data;  // see Operation::Run
  ConstantPart constant;
  Columns columns;
};
using Pieces = absl::InlinedVector<Piece, 4>;

// How many pieces an operation of so many multiplications and additions is worth: 1 for what is done before another
// thread wakes up, else no more than the step has threads. 1 in a deterministic step, whose pieces must not depend on
// the number of threads.
int64_t NumPieces(const KernelContext& ctx, double operations);

// The `index`th of `count` parts of [0, total), which are multiples of `unit` long if that leaves none of them empty.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
Range PartOf(int64_t total, int64_t count, int64_t index, int64_t unit = 1);

// How `items` that are run independently of each other, and may themselves be cut, become at least `pieces` pieces of
// about the same size: into so many groups of whole items, or each item by itself into `cuts`.
struct Groups {
  int64_t groups, cuts;
};
Groups GroupItems(int64_t items, int64_t pieces);

// True if all pieces were run; false, having written nothing, if memory is short. `operations` and `weights`, the
// elements of the operand that is read once, say how long they take: threads that sleep are woken only for long ones.
// REQUIRES: no operation is null.
bool RunPieces(const KernelContext& ctx, std::span<const Piece> pieces, double operations, double weights);

}  // namespace weir::onednn

#endif  // WEIR_DEVICE_CPU_ONEDNN_PIECES_INTERNAL_H_
