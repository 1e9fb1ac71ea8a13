// Shapes of all tensors of a graph before it runs.
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

// Runs every shape function in topological order, loops to a fixed point, into functions that are called.
// INVALID_ARGUMENT that names the node where shapes contradict each other. Values of constants are known; small integer
// computations on shapes (Shape, Pack, StridedSlice, Concat ...) are followed.
StatusOr<InferredShapes> InferShapes(const Graph& graph);
// Checks one node whose inputs are known; what a session does with each node it is given.
Status InferNode(const Graph& graph, const Node& node, std::vector<InferredTensor> inputs,
                 std::vector<InferredTensor>* outputs);

}  // namespace weir

#endif  // WEIR_GRAPH_SHAPE_INFERENCE_H_
