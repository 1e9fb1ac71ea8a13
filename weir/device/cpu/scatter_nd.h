// Updating slices of an array that a matrix of indices names.
#ifndef WEIR_DEVICE_CPU_SCATTER_ND_H_
#define WEIR_DEVICE_CPU_SCATTER_ND_H_

#include "weir/framework/kernel.h"

namespace weir {

enum class ScatterOp { kAssign, kAdd, kSub, kMin, kMax };

// Checks the shapes of `indices` [..., depth] and `updates` against `shape`, in TensorFlow's words.
Status CheckScatterNd(const Shape& shape, const Tensor& indices, const Tensor& updates);

// Applies updates to `target` in order: later ones of the same place come after earlier ones. An index outside is
// INVALID_ARGUMENT before anything is changed, or is skipped with `ignore_bad`.
// REQUIRES: CheckScatterNd was OK; `target` may be written and is of the updates' type.
Status ScatterNdInto(const KernelContext& ctx, ScatterOp op, const Tensor& indices, const Tensor& updates,
                     Tensor& target, bool ignore_bad);

// A copy of `tensor`, made by several threads if it is large.
StatusOr<Tensor> CloneInParallel(const KernelContext& ctx, const Tensor& tensor);

// True if the operation is defined on the type.
bool CanScatter(ScatterOp op, DType dtype);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_SCATTER_ND_H_
