#include "weir/passes/dependency.h"

#include <algorithm>

namespace weir {
namespace {

bool IsFreeConstant(const Node& node) { return IsConstant(node) && node.control_inputs.empty(); }

void DropImpliedControls(const Graph& graph, Node* node) {
  std::erase_if(node->control_inputs, [&](NodeId input) {
    if (IsFreeConstant(*graph.node(input))) return true;
    // A Merge may run because of another input, and a Switch passes data on one side only.
    if (IsMerge(*node)) return false;
    return std::ranges::any_of(node->inputs, [&](Endpoint data) { return data.node == input; });
  });
}

bool IsRemovableIdentity(const Graph& graph, const Node& node, std::span<const Consumers::Use> uses) {
  if (node.op() != "Identity" || IsPinned(node) || !node.control_inputs.empty() || uses.empty()) return false;
  Endpoint input = node.inputs[0];
  const Node& producer = *graph.node(input.node);
  if (IsRef(graph.type(input)) || IsSwitch(producer) || IsRecv(producer)) return false;
  for (const Consumers::Use& use : uses) {
    const Node& consumer = *graph.node(use.consumer);
    // Loops keep their shape: NextIteration, Merge and Exit keep their inputs.
    if (use.input < 0 || IsControlFlow(consumer)) return false;
  }
  return true;
}

// Whether replacing the NoOp by control edges from its inputs to its consumers does not increase the number of edges.
bool IsBypassable(const Node& node, std::span<const Consumers::Use> uses) {
  if (node.op() != "NoOp" || IsPinned(node) || uses.empty()) return false;
  size_t in = node.control_inputs.size(), out = uses.size();
  return in * out <= in + out;
}

}  // namespace

Status SimplifyDependencies(RewriteContext& context) {
  Graph* const graph = &context.graph();
  for (const auto& node : graph->nodes()) {
    if (node && !node->control_inputs.empty()) DropImpliedControls(*graph, node.get());
  }
  context.ForgetConsumers();
  {
    const Consumers& consumers = context.consumers();
    Replacements replacements(graph);
    for (const auto& node : graph->nodes()) {
      if (node && IsRemovableIdentity(*graph, *node, consumers.of(node->id))) {
        replacements.Replace(Endpoint{node->id, 0}, node->inputs[0]);
      }
    }
    replacements.Apply();
  }
  context.ForgetConsumers();
  const Consumers& consumers = context.consumers();
  WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(*graph));
  for (NodeId id : order) {
    Node* node = graph->node(id);
    // A NoOp without inputs stays: nothing could take its place.
    if (!IsBypassable(*node, consumers.of(id)) || node->control_inputs.empty()) continue;
    for (const Consumers::Use& use : consumers.of(id)) {
      Node* consumer = graph->node(use.consumer);
      std::erase(consumer->control_inputs, id);
      for (NodeId input : node->control_inputs) AddControlInput(consumer, input);
    }
  }
  for (const auto& node : graph->nodes()) {
    if (node && !node->control_inputs.empty()) DropImpliedControls(*graph, node.get());
  }
  return OkStatus();
}

}  // namespace weir
