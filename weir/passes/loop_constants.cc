#include "weir/passes/loop_constants.h"

#include <algorithm>

namespace weir {

bool HasLoops(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) { return node != nullptr && IsEnter(*node); });
}

StatusOr<Node*> AddConstant(RewriteContext& context, const Node& like, Tensor value, NodeId after) {
  AttrMap attrs;
  attrs.Set("dtype", value.dtype());
  attrs.Set("value", std::move(value));
  WEIR_ASSIGN_OR_RETURN(Node * node, context.AddBeside(like, "Const", {}, std::move(attrs)));
  if (HasLoops(context.graph())) AddControlInput(node, after);
  return node;
}

}  // namespace weir
