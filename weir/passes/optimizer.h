// The device-independent graph rewrites, in order. They run before placement; the rewrites of each device run after it
// (device_rewrites.h).
//
// Rewrites preserve all side effects. Only arithmetic rewrites may change results, by rounding.
#ifndef WEIR_PASSES_OPTIMIZER_H_
#define WEIR_PASSES_OPTIMIZER_H_

#include "weir/passes/recompute_options.h"
#include "weir/passes/rewrite_context.h"

namespace weir {

struct OptimizeOptions {
  bool inline_functions = true;
  bool lower_control_flow = true;
  bool constant_folding = true;
  bool common_subexpressions = true;
  bool arithmetic = true;
  bool dependencies = true;
  RecomputeOptions recompute;
  int64_t max_folded_constant_bytes = 10 << 20;
};

// REQUIRES: the graph is pruned (prune.h), so that it has only nodes that the step needs. If `evaluate` is empty,
// nothing is folded.
Status OptimizeGraph(RewriteContext& context, const OptimizeOptions& options, const NodeEvaluator& evaluate);

}  // namespace weir

#endif  // WEIR_PASSES_OPTIMIZER_H_
