// _Attention: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_ATTENTION_H_
#define WEIR_OPS_NN_ATTENTION_H_

#include "weir/framework/kernel.h"

namespace weir::nn {

// A masked score that is lower counts as this: far enough below all others, and near enough that the logarithm of a sum
// of such exponentials still tells how many there were. Queries that see no key get gradients by that.
inline constexpr float kLowestScore = -20000;

struct AttentionAttrs {
  bool is_causal = false;
  bool heads_first = false;
  bool has_mask = false;
  float scale = 0;       // of the scores; 0: one over the root of the heads' size
  float mask_value = 0;  // of scores that a mask of bools hides
  static StatusOr<AttentionAttrs> Read(const KernelInit& init);
};

// Queries [batch, queries, heads, size]; keys and values [batch, keys, heads, size]; or heads before the times.
struct AttentionSizes {
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, size = 0;
  bool heads_first = false;
  float scale = 0;

  // Elements from one to the next, in a tensor of so many times.
  int64_t batch_step(int64_t times) const { return times * heads * size; }
  int64_t time_step() const { return heads_first ? size : heads * size; }
  int64_t head_step(int64_t times) const { return heads_first ? times * size : size; }
  Shape stats() const { return Shape({batch, heads, queries}); }
  bool IsEmpty() const { return batch == 0 || queries == 0 || keys == 0 || heads == 0 || size == 0; }
};

// Where the mask's elements are: steps are 0 along what it has one element of.
struct AttentionMask {
  const Tensor* tensor = nullptr;  // null: there is none
  int64_t batch = 0, head = 0, query = 0, key = 0;
};

// From the first three inputs; INVALID_ARGUMENT if they do not fit each other. With `is_gradient` also checks the
// output, its statistics and its gradient, inputs 3 to 5.
StatusOr<AttentionSizes> SizesOfAttention(const KernelContext& ctx, const AttentionAttrs& attrs, bool is_gradient);
// From the input after those.
StatusOr<AttentionMask> MaskOfAttention(const KernelContext& ctx, const AttentionAttrs& attrs,
                                        const AttentionSizes& sizes, bool is_gradient);

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_ATTENTION_H_
