// The arithmetic of collectives: merging two chunks, and dividing by the number of members.
#ifndef WEIR_COLLECTIVE_MERGE_H_
#define WEIR_COLLECTIVE_MERGE_H_

#include <cstdint>

#include "weir/collective/types.h"

namespace weir {

// The types that can be merged: half, bfloat16, float, double, int32, int64.
bool CanMerge(DType dtype);
// out[i] = own[i] op received[i]. Computes half and bfloat16 in float. `out` may be `own` or `received`. REQUIRES:
// CanMerge(dtype).
void MergeChunks(DType dtype, MergeOp op, const void* own, const void* received, void* out, int64_t count);
// values[i] /= divisor, computed in the type itself; integers are rounded towards zero. REQUIRES: CanMerge(dtype).
void DivideChunk(DType dtype, int divisor, void* values, int64_t count);

}  // namespace weir

#endif  // WEIR_COLLECTIVE_MERGE_H_
