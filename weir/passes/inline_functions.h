// Inlining: calls of functions become the functions' bodies.
#ifndef WEIR_PASSES_INLINE_FUNCTIONS_H_
#define WEIR_PASSES_INLINE_FUNCTIONS_H_

#include "weir/graph/graph.h"

namespace weir {

struct InlineOptions {
  bool inline_calls = true;
  bool lower_control_flow = true;  // also what bodies bring in
  int64_t max_nodes = 1'000'000;   // a graph that has so many gets no further bodies
};

// Puts the bodies in the place of PartitionedCall, StatefulPartitionedCall and direct calls, nested ones too, except of
// functions that say `_noinline` and of a function inside itself: those stay calls. Nodes of a body are named
// "call/node". The call node stays as a NoOp that runs when its results and effects are there; who waited for the call
// waits for it. Effects of the body wait for what the call waited for, and inside loops and branches so does everything
// in it that has no inputs.
Status InlineFunctions(Graph* graph, const InlineOptions& options = {});

}  // namespace weir

#endif  // WEIR_PASSES_INLINE_FUNCTIONS_H_
