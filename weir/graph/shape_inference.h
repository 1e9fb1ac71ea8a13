// Infers the shapes of all tensors of a graph before it runs.
#ifndef WEIR_GRAPH_SHAPE_INFERENCE_H_
#define WEIR_GRAPH_SHAPE_INFERENCE_H_

#include <vector>

#include "weir/base/export.h"
#include "weir/framework/shape_context.h"
#include "weir/graph/graph.h"

namespace WEIR_PUBLIC weir {

struct InferredShapes {
  std::vector<std::vector<InferredTensor>> outputs;  // by node id, then output
  const InferredTensor& of(Endpoint tensor) const { return outputs[tensor.node][tensor.index]; }
};

// Runs every shape function in topological order, loops until nothing changes, and also in called functions.
// INVALID_ARGUMENT, with the name of the node, if shapes contradict each other. The values of constants, and of small
// integer computations on shapes (Shape, Pack, StridedSlice, Concat ...), are inferred, too.
StatusOr<InferredShapes> InferShapes(const Graph& graph);
// Infers the outputs of one node from its inputs; sessions check every new node with it.
Status InferNode(const Graph& graph, const Node& node, std::vector<InferredTensor> inputs,
                 std::vector<InferredTensor>* outputs);

}  // namespace weir

#endif  // WEIR_GRAPH_SHAPE_INFERENCE_H_
