// Lowering: turns If, Case and While into Switch, Merge, Enter, Exit and NextIteration, so that branches and iterations
// run as part of the graph, concurrently with other nodes.
#ifndef WEIR_PASSES_LOWER_CONTROL_FLOW_H_
#define WEIR_PASSES_LOWER_CONTROL_FLOW_H_

#include <utility>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

// A call created by lowering, and the lowered node.
struct LoweredCall {
  NodeId call;
  NodeId from;
};

// Lowers every If, StatelessIf, Case, StatelessCase, While and StatelessWhile. Branches, conditions and bodies become
// calls (PartitionedCall, or StatefulPartitionedCall for functions that may have effects) that run only in the branch
// taken; they are appended to `calls` if it is not null. The node itself becomes a NoOp of the same name that runs when
// everything is done; its consumers read from the Merge or Exit nodes.
Status LowerControlFlow(Graph* graph, std::vector<LoweredCall>* calls = nullptr);

}  // namespace weir

#endif  // WEIR_PASSES_LOWER_CONTROL_FLOW_H_
