// Pruning: the part of a graph that a step needs.
#ifndef WEIR_PASSES_PRUNE_H_
#define WEIR_PASSES_PRUNE_H_

#include <string>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

// What a step is given and asked for, by tensor names ("x:0"; ":0" may be left out) and node names.
struct StepSignature {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
};

// An attribute of an `_Arg`: the shape that the placeholder in its place declares, in a list.
inline constexpr char kDeclaredShapes[] = "_output_shapes";

// A graph of the nodes from which a fetch or target can be reached, over data and control edges, without going behind a
// fed tensor. Feed i becomes an `_Arg` node of index i in place of the fed tensor (and of its node's control edges, if
// that is a placeholder), fetch i a `_Retval` node of index i. Errors have TensorFlow's codes and texts.
StatusOr<Graph> PruneGraph(const Graph& graph, const StepSignature& signature);

}  // namespace weir

#endif  // WEIR_PASSES_PRUNE_H_
