// The rewrites of a graph, in order. None changes a result or an effect.
#ifndef WEIR_PASSES_OPTIMIZER_H_
#define WEIR_PASSES_OPTIMIZER_H_

#include "weir/passes/rewrite.h"

namespace weir {

struct OptimizeOptions {
  bool inline_functions = true;
  bool lower_control_flow = true;
  bool constant_folding = true;
  bool common_subexpressions = true;
  bool arithmetic = true;
  bool dependencies = true;
  bool fusion = true;              // REQUIRES: all nodes run on the host
  bool elementwise_fusion = true;  // REQUIRES: the same, and that it has a kernel for what comes of it
  bool scatter_fusion = true;      // as above
  bool view_products = true;       // as above
  int64_t max_folded_constant_bytes = 10 << 20;
};

// REQUIRES: a pruned graph (prune.h): every node in it is there because the step needs it. `evaluate` may be empty;
// then nothing is folded.
Status OptimizeGraph(Graph* graph, const OptimizeOptions& options, const NodeEvaluator& evaluate);

}  // namespace weir

#endif  // WEIR_PASSES_OPTIMIZER_H_
