// What the sparse segment ops check on all devices.
#ifndef WEIR_OPS_SPARSE_SPARSE_SEGMENTS_H_
#define WEIR_OPS_SPARSE_SPARSE_SEGMENTS_H_

#include "weir/framework/kernel.h"

namespace weir {

// The shapes of data (or gradient), indices and segment ids.
Status CheckSparseSegments(const KernelContext& ctx);

// How many segments SparseSegmentSum and its like have: input 3, or one more than the last id (-1 if there is none).
StatusOr<int64_t> SparseSegmentCount(const KernelContext& ctx, int64_t last_id);

// For the gradients: CheckSparseSegments, and the number of rows of the dense gradient.
StatusOr<int64_t> CheckSparseSegmentGrad(const KernelContext& ctx);

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_SPARSE_SEGMENTS_H_
