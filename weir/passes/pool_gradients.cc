#include "weir/passes/pool_gradients.h"

#include <algorithm>

namespace weir {
namespace {

bool IsSame(const Node& a, const Node& b, std::string_view attr) {
  const Attribute *x = a.attrs.Find(attr), *y = b.attrs.Find(attr);
  return x != nullptr && y != nullptr && *x == *y;
}

// Whether the gradient's second input is the pool of its first.
bool IsGradientOfItsInputs(const Graph& graph, const Node& gradient) {
  const Endpoint pooled = gradient.inputs[1];
  const Node& pool = *graph.node(pooled.node);
  if (pool.op() != "MaxPool" || pooled.index != 0 || pool.inputs[0] != gradient.inputs[0]) return false;
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{"T", "ksize", "strides", "padding", "explicit_paddings", "data_format"},
      [&](std::string_view attr) { return IsSame(pool, gradient, attr); });
}

}  // namespace

Status MoveReluGradients(Graph* graph) {
  const bool has_any = std::ranges::any_of(
      graph->nodes(), [](const auto& node) { return node != nullptr && node->op() == "MaxPoolGrad"; });
  if (!has_any) return OkStatus();
  const Consumers consumers(*graph);
  for (const auto& node : graph->nodes()) {
    if (node == nullptr || node->op() != "ReluGrad") continue;
    Node* inner = graph->node(node->inputs[0].node);
    if (inner->op() != "MaxPoolGrad" || consumers.of(inner->id).size() != 1) continue;
    const Endpoint image = inner->inputs[0], pooled = inner->inputs[1], gradient = inner->inputs[2];
    if (node->inputs[1] != image || inner->requested_device != node->requested_device) continue;
    if (IsRef(graph->type(image)) || !IsGradientOfItsInputs(*graph, *inner)) continue;
    std::swap(node->schema, inner->schema);
    std::swap(node->attrs, inner->attrs);
    inner->inputs = {gradient, pooled};
    node->inputs = {image, pooled, {inner->id, 0}};
    WEIR_RETURN_IF_ERROR(graph->RefreshTypes(inner));
    WEIR_RETURN_IF_ERROR(graph->RefreshTypes(node.get()));
  }
  return OkStatus();
}

}  // namespace weir
