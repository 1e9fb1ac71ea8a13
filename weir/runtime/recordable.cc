#include "weir/runtime/recordable.h"

#include <utility>

namespace weir {
namespace {

std::string KeyOf(const Node& node) {
  auto text = [&](std::string_view name) {
    StatusOr<std::string> value = node.Attr<std::string>(name);
    return value.ok() ? *std::move(value) : std::string();
  };
  return Cat(text("send_device"), ";", text("recv_device"), ";", text("tensor_name"));
}

using Place = std::pair<size_t, NodeId>;  // part and node

// Searches everything that depends on a part's Sends, through the other parts, for a way back into the part.
class Followers {
 public:
  explicit Followers(const std::vector<DeviceGraph>& parts) : parts_(parts), consumers_(parts.size()) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const Graph& graph = parts[i].graph;
      consumers_[i].resize(graph.num_node_ids());
      for (const auto& node : graph.nodes()) {
        if (node == nullptr) continue;
        for (const Endpoint& input : node->inputs) consumers_[i][input.node].push_back(node->id);
        for (NodeId input : node->control_inputs) consumers_[i][input].push_back(node->id);
        if (IsRecv(*node)) recvs_[KeyOf(*node)] = {i, node->id};
        may_wait_ |= !IsRecv(*node) && node->schema->waiting == Waiting::kMayWait;
      }
    }
  }

  bool LeadBackTo(size_t part) {
    std::vector<Place> open;
    std::vector<std::vector<bool>> seen(parts_.size());
    for (size_t i = 0; i < parts_.size(); ++i) seen[i].resize(parts_[i].graph.num_node_ids(), false);
    // Continues at the Recv; true if that belongs to the part.
    auto follow = [&](const Node& send) {
      auto recv = recvs_.find(KeyOf(send));
      if (recv == recvs_.end()) return true;  // goes to another task, which may answer
      if (recv->second.first == part) return true;
      open.push_back(recv->second);
      return false;
    };
    for (const auto& node : parts_[part].graph.nodes()) {
      if (node == nullptr || !IsSend(*node)) continue;
      auto recv = recvs_.find(KeyOf(*node));
      const bool is_own = recv != recvs_.end() && recv->second.first == part;  // between two memories
      if (!is_own && follow(*node)) return true;
    }
    while (!open.empty()) {
      const auto [at, id] = open.back();
      open.pop_back();
      if (seen[at][id]) continue;
      seen[at][id] = true;
      const Node& node = *parts_[at].graph.node(id);
      if (IsSend(node) && follow(node)) return true;
      // The node may end the wait of a node that the part depends on.
      if (!IsSend(node) && !IsRecv(node) && may_wait_ && node.schema->waiting != Waiting::kPrompt &&
          (node.schema->is_stateful || node.schema->waiting != Waiting::kUnsaid)) {
        return true;
      }
      for (NodeId consumer : consumers_[at][id]) open.emplace_back(at, consumer);
    }
    return false;
  }

 private:
  const std::vector<DeviceGraph>& parts_;
  std::vector<std::vector<std::vector<NodeId>>> consumers_;
  StringMap<Place> recvs_;
  bool may_wait_ = false;
};

}  // namespace

bool ReceivesBeforeItSends(const std::vector<DeviceGraph>& parts, size_t part) {
  return !Followers(parts).LeadBackTo(part);
}

}  // namespace weir
