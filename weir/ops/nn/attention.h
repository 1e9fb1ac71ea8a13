// _Attention: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_ATTENTION_H_
#define WEIR_OPS_NN_ATTENTION_H_

#include "weir/framework/kernel.h"

namespace weir::nn {

struct AttentionAttrs {
  bool is_causal = false;
  float scale = 0;  // of the scores; 0: one over the root of the heads' size
  static StatusOr<AttentionAttrs> Read(const KernelInit& init);
};

// Queries [batch, queries, heads, size]; keys and values [batch, keys, heads, size].
struct AttentionSizes {
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, size = 0;
  float scale = 0;

  int64_t row() const { return heads * size; }  // elements from one time to the next
  Shape stats() const { return Shape({batch, heads, queries}); }
  bool IsEmpty() const { return batch == 0 || queries == 0 || keys == 0 || heads == 0 || size == 0; }
};

// From the first three inputs; INVALID_ARGUMENT if they do not fit each other. With `is_gradient` also checks the
// output, its statistics and its gradient, inputs 3 to 5.
StatusOr<AttentionSizes> SizesOfAttention(const KernelContext& ctx, const AttentionAttrs& attrs, bool is_gradient);

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_ATTENTION_H_
