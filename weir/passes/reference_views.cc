#include "weir/passes/reference_views.h"

namespace weir {

NodeId ReferenceBehind(const Graph& graph, Endpoint tensor) {
  // Merge and NextIteration are not views, so the search ends.
  while (tensor.index >= 0) {
    const Node& node = *graph.node(tensor.node);
    if (IsRef(node.output_type(tensor.index))) return node.id;
    if (!node.schema->is_view || node.inputs.empty()) return kNoNode;
    tensor = node.inputs[0];
  }
  return kNoNode;
}

}  // namespace weir
