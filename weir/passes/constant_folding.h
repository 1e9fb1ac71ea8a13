// Constant folding: computes nodes that depend only on constants once, before the first step.
#ifndef WEIR_PASSES_CONSTANT_FOLDING_H_
#define WEIR_PASSES_CONSTANT_FOLDING_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

struct ConstantFoldingOptions {
  int64_t max_bytes = 10 << 20;  // of one folded result
};

// Turns pure nodes whose inputs are all Const into Const; also Shape, Size and Rank of tensors whose shapes are known.
// The constant keeps the node's dependencies as control inputs, so that branches that are not taken stay dead. Nodes
// with a requested device, results above the limit, and nodes that the evaluator cannot compute stay: their errors
// belong to the step that runs them.
Status FoldConstants(RewriteContext& context, const NodeEvaluator& evaluate,
                     const ConstantFoldingOptions& options = {});

}  // namespace weir

#endif  // WEIR_PASSES_CONSTANT_FOLDING_H_
