#include "weir/passes/wait_analysis.h"

#include <algorithm>

namespace weir {
namespace {

bool IsLate(const Node& node) { return node.attrs.Find(kLateArgument) != nullptr; }
bool MayWait(const Node& node) { return node.schema->may_wait() || IsLate(node); }

}  // namespace

WaitAnalysis::WaitAnalysis(const Graph& graph, const Consumers& consumers)
    : graph_(graph), consumers_(consumers), may_be_dead_(graph.num_node_ids(), false) {
  FindDead();
  has_waits_ = std::ranges::any_of(graph_.nodes(), [](const auto& node) { return node != nullptr && MayWait(*node); });
  if (has_waits_) FindWaits();
}

// Values downstream of a Switch, or of a Recv that is not known to be live, may be dead. A Merge does not end this: its
// inputs may all be dead.
void WaitAnalysis::FindDead() {
  stack_.clear();
  for (const auto& node : graph_.nodes()) {
    if (node == nullptr) continue;
    if (IsSwitch(*node) || (IsRecv(*node) && node->attrs.Find(kNeverDead) == nullptr)) stack_.push_back(node->id);
  }
  while (!stack_.empty()) {
    const NodeId id = stack_.back();
    stack_.pop_back();
    if (may_be_dead_[id]) continue;
    may_be_dead_[id] = true;
    for (const Consumers::Use& use : consumers_.of(id)) stack_.push_back(use.consumer);
  }
}

// Finds for each node the waiting nodes that it depends on (a bit for each of the first 63; the others share one), and
// whether a node that may end a wait depends on it. If there are both, delaying the node may cause a deadlock.
void WaitAnalysis::FindWaits() {
  waits_for_.assign(graph_.num_node_ids(), 0);
  wakes_.assign(graph_.num_node_ids(), false);
  joined_.assign(graph_.num_node_ids(), -1);
  const bool has_late = std::ranges::any_of(graph_.nodes(), [](const auto& node) { return node && IsLate(*node); });
  int num_waits = 0;
  for (const auto& node : graph_.nodes()) {
    if (node == nullptr) continue;
    if (MayWait(*node)) waits_for_[node->id] = num_waits < 63 ? uint64_t{1} << num_waits++ : kOthers;
    // In a partial run, the client may supply further feeds only after it has seen a result.
    wakes_[node->id] = node->schema->may_wake() || (has_late && node->op() == "_Retval");
  }
  stack_.clear();
  // In topological order, one visit per node is enough, except for the back edges of loops.
  StatusOr<std::vector<NodeId>> order = TopologicalOrder(graph_);
  if (order.ok()) {
    for (NodeId id : *order) {
      for (const Consumers::Use& use : consumers_.of(id)) waits_for_[use.consumer] |= waits_for_[id];
    }
    for (size_t i = order->size(); i-- > 0;) {
      const NodeId id = (*order)[i];
      for (const Consumers::Use& use : consumers_.of(id)) {
        if (wakes_[use.consumer]) wakes_[id] = true;
      }
    }
  }
  for (const auto& node : graph_.nodes()) {
    if (node && (!order.ok() || IsNextIteration(*node))) stack_.push_back(node->id);
  }
  std::vector<NodeId> again = stack_;
  SpreadWaits();
  for (NodeId id : again) {
    for (const Consumers::Use& use : consumers_.of(id)) stack_.push_back(use.consumer);
  }
  SpreadWakes();
}

void WaitAnalysis::SetWaits(NodeId id, uint64_t waits) {
  if ((waits_for_[id] | waits) == waits_for_[id]) return;
  waits_for_[id] |= waits;
  stack_.push_back(id);
  if (joined_[id] < 0) return;
  for (NodeId other : sets_[joined_[id]]) {
    if (other != id && (waits_for_[other] | waits) != waits_for_[other]) {
      waits_for_[other] |= waits;
      stack_.push_back(other);
    }
  }
}

void WaitAnalysis::SpreadWaits() {
  while (!stack_.empty()) {
    const NodeId id = stack_.back();
    stack_.pop_back();
    for (const Consumers::Use& use : consumers_.of(id)) SetWaits(use.consumer, waits_for_[id]);
  }
}

void WaitAnalysis::SetWakes(NodeId id) {
  if (wakes_[id]) return;
  wakes_[id] = true;
  stack_.push_back(id);
  if (joined_[id] < 0) return;
  for (NodeId other : sets_[joined_[id]]) {
    if (!wakes_[other]) {
      wakes_[other] = true;
      stack_.push_back(other);
    }
  }
}

void WaitAnalysis::SpreadWakes() {
  while (!stack_.empty()) {
    const NodeId id = stack_.back();
    stack_.pop_back();
    if (!wakes_[id]) continue;
    for (Endpoint input : graph_.node(id)->inputs) SetWakes(input.node);
    for (NodeId input : graph_.node(id)->control_inputs) SetWakes(input);
  }
}

void WaitAnalysis::Join(std::span<const NodeId> nodes) {
  if (!has_waits_ || nodes.empty()) return;
  const int set = static_cast<int>(sets_.size());
  std::vector<NodeId> members;
  uint64_t waits = 0;
  bool wakes = false;
  for (NodeId node : nodes) {
    if (joined_[node] == set) continue;
    std::vector<NodeId> others{node};
    if (joined_[node] >= 0) others = std::move(sets_[joined_[node]]);
    for (NodeId other : others) {
      joined_[other] = set;
      members.push_back(other);
      waits |= waits_for_[other];
      wakes = wakes || wakes_[other];
    }
  }
  sets_.push_back(std::move(members));
  stack_.clear();
  SetWaits(nodes[0], waits);
  for (NodeId node : sets_[set]) SetWaits(node, waits);
  SpreadWaits();
  if (!wakes) return;
  for (NodeId node : sets_[set]) SetWakes(node);
  SpreadWakes();
}

}  // namespace weir
