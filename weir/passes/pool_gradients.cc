#include "weir/passes/pool_gradients.h"

#include <algorithm>

namespace weir {
namespace {

bool IsSame(const Node& a, const Node& b, std::string_view attr) {
  const Attribute *x = a.attrs.Find(attr), *y = b.attrs.Find(attr);
  return x != nullptr && y != nullptr && *x == *y;
}

// Whether the second input of the gradient is the pooled first input.
bool IsGradientOfItsInputs(const Graph& graph, const Node& gradient) {
  const Endpoint pooled = gradient.inputs[1];
  const Node& pool = *graph.node(pooled.node);
  if (pool.op() != "MaxPool" || pooled.index != 0 || pool.inputs[0] != gradient.inputs[0]) return false;
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{"T", "ksize", "strides", "padding", "explicit_paddings", "data_format"},
      [&](std::string_view attr) { return IsSame(pool, gradient, attr); });
}

}  // namespace

Status MoveReluGradients(RewriteContext& context) {
  Graph& graph = context.graph();
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != "ReluGrad" || !context.MayRewrite(*node)) continue;
    Node* inner = graph.node(node->inputs[0].node);
    if (inner->op() != "MaxPoolGrad" || !context.MayRewrite(*inner)) continue;
    if (context.OnlyConsumer({inner->id, 0}) != node.get()) continue;
    const Endpoint image = inner->inputs[0], pooled = inner->inputs[1], gradient = inner->inputs[2];
    if (node->inputs[1] != image) continue;
    if (IsRef(graph.type(image)) || !IsGradientOfItsInputs(graph, *inner)) continue;
    std::swap(node->schema, inner->schema);
    std::swap(node->attrs, inner->attrs);
    inner->inputs = {gradient, pooled};
    node->inputs = {image, pooled, {inner->id, 0}};
    WEIR_RETURN_IF_ERROR(context.Redefined(inner));
    WEIR_RETURN_IF_ERROR(context.Changed(node.get()));
  }
  return OkStatus();
}

}  // namespace weir
