// Constant folding: what depends on constants alone is computed once, before the first step.
#ifndef WEIR_PASSES_CONSTANT_FOLDING_H_
#define WEIR_PASSES_CONSTANT_FOLDING_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

struct ConstantFoldingOptions {
  int64_t max_bytes = 10 << 20;  // of one folded result
};

// Turns pure nodes whose inputs are all Const into Const, and Shape, Size and Rank of tensors whose shapes are known.
// What the node had to wait for, its constant waits for; so branches not taken stay dead. Pinned nodes and results
// above the limit are left alone, and so is what the evaluator refuses: the error belongs to the step that runs it.
Status FoldConstants(RewriteContext& context, const NodeEvaluator& evaluate,
                     const ConstantFoldingOptions& options = {});

}  // namespace weir

#endif  // WEIR_PASSES_CONSTANT_FOLDING_H_
