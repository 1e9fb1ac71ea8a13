// Merges the values of several ranks, in rank order.
#ifndef WEIR_COLLECTIVE_MERGE_ORDER_H_
#define WEIR_COLLECTIVE_MERGE_ORDER_H_

#include <cstring>
#include <vector>

#include "weir/collective/merge.h"

namespace weir::collective {

// `out` may be one of the first two parts.
inline void MergeInOrder(DType dtype, MergeOp op, const std::vector<const void*>& parts, void* out, int64_t count) {
  if (count == 0) return;
  if (parts.size() == 1) {
    std::memmove(out, parts[0], count * SizeOf(dtype));
    return;
  }
  MergeChunks(dtype, op, parts[0], parts[1], out, count);
  for (size_t i = 2; i < parts.size(); ++i) MergeChunks(dtype, op, out, parts[i], out, count);
}

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_MERGE_ORDER_H_
