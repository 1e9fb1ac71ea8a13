// Lowering: If, Case and While become Switch, Merge, Enter, Exit and NextIteration, so that branches and iterations run
// in the graph itself, beside everything else.
#ifndef WEIR_PASSES_LOWER_CONTROL_FLOW_H_
#define WEIR_PASSES_LOWER_CONTROL_FLOW_H_

#include <utility>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

// A call that a lowered node became, and that node.
struct LoweredCall {
  NodeId call;
  NodeId from;
};

// Lowers every If, StatelessIf, Case, StatelessCase, While and StatelessWhile. Branches, conditions and bodies become
// calls (PartitionedCall, or StatefulPartitionedCall for what may have effects) that run on the taken side only;
// `calls`, if given, gets them. The node itself stays under its name as a NoOp that runs when all of it is done; who
// read its outputs reads them from the Merge or Exit nodes.
Status LowerControlFlow(Graph* graph, std::vector<LoweredCall>* calls = nullptr);

}  // namespace weir

#endif  // WEIR_PASSES_LOWER_CONTROL_FLOW_H_
