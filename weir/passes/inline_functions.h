// Inlining: replaces function calls by the bodies of the functions.
#ifndef WEIR_PASSES_INLINE_FUNCTIONS_H_
#define WEIR_PASSES_INLINE_FUNCTIONS_H_

#include "weir/graph/graph.h"

namespace weir {

struct InlineOptions {
  bool inline_calls = true;
  bool lower_control_flow = true;  // also in inlined bodies
  int64_t max_nodes = 1'000'000;   // stop inlining when the graph has this many nodes
};

// Inlines PartitionedCall, StatefulPartitionedCall and direct calls, including nested ones. Functions with the
// attribute `_noinline` and recursive calls stay calls. The nodes of a body are named "call/node". The call node
// becomes a NoOp that runs after all results and effects of the body; nodes with a control edge from the call keep it.
// Stateful nodes of the body wait for the control inputs of the call; inside loops and branches, so do nodes without
// inputs.
Status InlineFunctions(Graph* graph, const InlineOptions& options = {});

}  // namespace weir

#endif  // WEIR_PASSES_INLINE_FUNCTIONS_H_
