// Constants that passes add: in a loop they need a control input from there.
#ifndef WEIR_PASSES_LOOP_CONSTANTS_H_
#define WEIR_PASSES_LOOP_CONSTANTS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

bool HasLoops(const Graph& graph);

// Adds a Const beside `like`; if the graph has loops it runs after the node `after`, and so in the same one.
StatusOr<Node*> AddConstant(RewriteContext& context, const Node& like, Tensor value, NodeId after);

}  // namespace weir

#endif  // WEIR_PASSES_LOOP_CONSTANTS_H_
