// Consumers and TopologicalOrder of graph.h.
#include <queue>

#include "weir/graph/graph.h"

namespace weir {

Consumers::Consumers(const Graph& graph) : begin_(graph.num_node_ids() + 1, 0) {
  auto nodes = graph.nodes();
  for (const auto& node : nodes) {
    if (!node) continue;
    for (Endpoint input : node->inputs) ++begin_[input.node + 1];
    for (NodeId input : node->control_inputs) ++begin_[input + 1];
  }
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  uses_.resize(begin_.back());
  std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
  for (const auto& node : nodes) {
    if (!node) continue;
    for (int32_t i = 0; i < static_cast<int32_t>(node->inputs.size()); ++i) {
      uses_[next[node->inputs[i].node]++] = {node->id, i, node->inputs[i].index};
    }
    for (NodeId input : node->control_inputs) uses_[next[input]++] = {node->id, -1, -1};
  }
}

std::span<const Consumers::Use> Consumers::of(NodeId id) const {
  return std::span(uses_).subspan(begin_[id], begin_[id + 1] - begin_[id]);
}

StatusOr<std::vector<NodeId>> TopologicalOrder(const Graph& graph) {
  Consumers consumers(graph);
  std::vector<int32_t> pending(graph.num_node_ids(), 0);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    int32_t count = static_cast<int32_t>(node->inputs.size() + node->control_inputs.size());
    if (IsMerge(*node)) {
      for (Endpoint input : node->inputs) count -= IsNextIteration(*graph.node(input.node));
    }
    pending[node->id] = count;
    if (count == 0) ready.push(node->id);
  }
  std::vector<NodeId> order;
  order.reserve(graph.num_nodes());
  while (!ready.empty()) {
    NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    bool back_edges = IsNextIteration(*graph.node(id));
    for (const Consumers::Use& use : consumers.of(id)) {
      if (back_edges && use.input >= 0 && IsMerge(*graph.node(use.consumer))) continue;
      if (--pending[use.consumer] == 0) ready.push(use.consumer);
    }
  }
  if (order.size() == static_cast<size_t>(graph.num_nodes())) return order;
  constexpr int kMostNames = 5;
  std::string names;
  int named = 0;
  for (const auto& node : graph.nodes()) {
    if (!node || pending[node->id] == 0) continue;
    if (named++ == kMostNames) {
      names += ", ...";
      break;
    }
    names += Cat(names.empty() ? "" : ", ", node->name);
  }
  return InvalidArgument(graph.num_nodes() - order.size(), " nodes in a cycle: ", names);
}

}  // namespace weir
