// Pruning: extracts the subgraph that a step needs.
#ifndef WEIR_PASSES_PRUNE_H_
#define WEIR_PASSES_PRUNE_H_

#include <string>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

// The feeds, fetches and targets of a step: tensor names ("x:0"; ":0" is optional) and node names.
struct StepSignature {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
};

// An attribute of an `_Arg`: a list with the shape that the replaced placeholder declares.
inline constexpr char kDeclaredShapes[] = "_output_shapes";

// The graph of all nodes that a fetch or target depends on, by data and control edges, up to the fed tensors. Feed i
// becomes an `_Arg` node with index i that replaces the fed tensor (and the control edges of its node, if that is a
// placeholder); fetch i becomes a `_Retval` node with index i. Errors have TensorFlow's codes and messages.
StatusOr<Graph> PruneGraph(const Graph& graph, const StepSignature& signature);

}  // namespace weir

#endif  // WEIR_PASSES_PRUNE_H_
