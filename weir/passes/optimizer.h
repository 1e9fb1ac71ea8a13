// The rewrites of a graph that hold on every device, in order. They come before placement; what a device does to its
// own part of a step comes after it (device_rewrites.h).
//
// No rewrite changes an effect. Those of arithmetic may change a result by rounding.
#ifndef WEIR_PASSES_OPTIMIZER_H_
#define WEIR_PASSES_OPTIMIZER_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

struct OptimizeOptions {
  bool inline_functions = true;
  bool lower_control_flow = true;
  bool constant_folding = true;
  bool common_subexpressions = true;
  bool arithmetic = true;
  bool dependencies = true;
  int64_t max_folded_constant_bytes = 10 << 20;
};

// REQUIRES: a pruned graph (prune.h): every node in it is there because the step needs it. `evaluate` may be empty;
// then nothing is folded.
Status OptimizeGraph(RewriteContext& context, const OptimizeOptions& options, const NodeEvaluator& evaluate);

}  // namespace weir

#endif  // WEIR_PASSES_OPTIMIZER_H_
