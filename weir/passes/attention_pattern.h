// Finding attention that is written out in products, a softmax and what stands between, with its gradient.
//
// Axes of tensors are named by letters: b (batch), h (heads), q (queries), k (keys), d (elements of a head). Scores are
// [b, h, q, k], or [b, q, k] if there is one head. Products are BatchMatMuls and Einsums; Transposes before them count
// as part of them.
#ifndef WEIR_PASSES_ATTENTION_PATTERN_H_
#define WEIR_PASSES_ATTENTION_PATTERN_H_

#include <optional>
#include <string>
#include <vector>

#include "weir/passes/rewrite_context.h"

namespace weir {

// An operand of a product: as it is there, and as it was before the Transposes on the way.
struct AttentionOperand {
  Endpoint tensor, base;
  std::string axes, base_axes;
};

struct AttentionGradient {
  AttentionOperand flow;                                   // the gradient of the output
  NodeId query = kNoNode, key = kNoNode, value = kNoNode;  // products that give the gradients; not all need be there
  std::string query_axes, key_axes, value_axes;            // of their results
};

struct AttentionPattern {
  DType dtype = DType::kInvalid;
  AttentionOperand query, key, value;
  NodeId output = kNoNode;  // the product that gives the result
  std::string output_axes;
  float scale = 1;
  bool is_causal = false;
  // What the scores are added to after scaling, or whether they stay (bool); broadcasts to them. None: node < 0.
  Endpoint mask{kNoNode, 0};
  std::vector<int64_t> mask_expansions;  // dimensions of one element that it gets first, each an ExpandDims' axis
  bool is_mask_inverted = false;         // of bools: scores stay where it is false
  float mask_value = 0;                  // of scores that bools hide
  std::optional<AttentionGradient> gradient;
  bool has_heads() const { return query.axes.size() == 4; }
};

// The attention whose weights a Softmax node gives, if all that is computed on the way is for it alone.
std::optional<AttentionPattern> FindAttention(RewriteContext& context, const Node& softmax);

}  // namespace weir

#endif  // WEIR_PASSES_ATTENTION_PATTERN_H_
