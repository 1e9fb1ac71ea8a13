// Attention written out in operations becomes _Attention, and its gradient _AttentionGrad: neither keeps the matrix of
// scores.
#ifndef WEIR_PASSES_FUSE_ATTENTION_H_
#define WEIR_PASSES_FUSE_ATTENTION_H_

#include <cstdint>
#include <functional>

#include "weir/passes/rewrite_context.h"

namespace weir {

// Elements of an attention; -1 what is not known.
struct AttentionExtent {
  int64_t batch = -1, heads = -1, queries = -1, keys = -1, size = -1;
};

struct FuseAttentionOptions {
  // Whether the device does such an attention faster as one operation.
  std::function<bool(DType dtype, const AttentionExtent& extent)> pays = [](DType, const AttentionExtent&) {
    return true;
  };
};

// Softmax(queries * keys) * values, where the products may be BatchMatMuls or Einsums with Transposes before and after
// them; scores may be scaled, have a mask added to them or chosen by one, and be cast for the softmax and back. Where
// the gradient of the weights is there too, it is one node with the gradients of queries, keys and values. All that
// becomes part of it must be for it alone: attention whose weights or scores something else sees, or whose mask is
// trained, stays as it is, and so does one where something else than the mask may broadcast: shapes must be known, or
// come from the same tensors (dimension_sources.h). A constant mask that hides what is later is left out for `causal`;
// hidden are scores that are 10000 lower, or more. Results change by rounding.
Status FuseAttention(RewriteContext& context, const FuseAttentionOptions& options = {});

}  // namespace weir

#endif  // WEIR_PASSES_FUSE_ATTENTION_H_
