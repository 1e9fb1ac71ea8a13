#include "weir/passes/recv_schedule.h"

#include <algorithm>
#include <array>

#include "weir/graph/loop_frames.h"

namespace weir {
namespace {

// Stateful ops that never wait for another node of the step.
constexpr std::array kPromptStatefulOps = {
    "_Arg",           "VarHandleOp",      "VariableV2",           "Variable",
    "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp",  "AssignSubVariableOp",
    "RandomUniform",  "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"};

bool IsPrompt(const Node& node) {
  return !node.schema->is_stateful || std::ranges::find(kPromptStatefulOps, node.op()) != kPromptStatefulOps.end();
}

class RecvScheduler {
 public:
  RecvScheduler(const Graph& graph, const CostModel& costs, int64_t min_bytes)
      : graph_(graph), costs_(costs), min_bytes_(min_bytes), consumers_(graph) {}

  StatusOr<RecvSchedule> Run() {
    WEIR_ASSIGN_OR_RETURN(step_, SimulateStep(graph_, costs_));
    WEIR_ASSIGN_OR_RETURN(frames_, FindLoopFrames(graph_));
    WEIR_ASSIGN_OR_RETURN(order_, TopologicalOrder(graph_));
    FindPlaces();
    FindLatestStarts();
    FindAnchors();
    RecvSchedule out;
    for (const SimulatedTransfer& transfer : step_.transfers) {
      if (transfer.tensor.index < 0 || transfer.bytes < min_bytes_) continue;
      if (frames_.of_node[transfer.tensor.node] != 0) continue;  // runs once per iteration: the loop determines when
      const NodeId anchor = AnchorOf(transfer);
      const std::string& device = step_.devices[transfer.to];
      if (anchor != kNoNode) out.after[{transfer.tensor.node, transfer.tensor.index, device}] = anchor;
    }
    return out;
  }

 private:
  void FindPlaces() {
    place_.assign(graph_.num_node_ids(), -1);
    for (size_t i = 0; i < step_.nodes.size(); ++i) place_[step_.nodes[i].node] = static_cast<int>(i);
  }
  const SimulatedNode& At(NodeId id) const { return step_.nodes[place_[id]]; }

  void FindLatestStarts() {
    latest_start_.assign(graph_.num_node_ids(), 0);
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const SimulatedNode& node = At(*id);
      double finish = step_.makespan;
      for (const Consumers::Use& use : consumers_.of(*id)) {
        if (place_[use.consumer] < place_[*id]) continue;  // belongs to the next iteration
        const SimulatedNode& consumer = At(use.consumer);
        const int64_t bytes = use.output < 0 ? 0 : costs_.Bytes({*id, use.output});
        const LinkCost link = costs_.Link(step_.devices[node.device], step_.devices[consumer.device]);
        finish = std::min(finish, latest_start_[use.consumer] - link.Time(bytes));
      }
      latest_start_[*id] = finish - (node.finish - node.start);
    }
  }

  // By device: the nodes that a Recv may wait for, in the order in which they finish.
  void FindAnchors() {
    anchors_.resize(step_.devices.size());
    std::vector<bool> certain(graph_.num_node_ids(), false);
    for (NodeId id : order_) {
      const Node& node = *graph_.node(id);
      bool sure = IsPrompt(node) && !IsControlFlow(node) && frames_.of_node[id] == 0;
      for (Endpoint input : node.inputs) sure = sure && certain[input.node];
      for (NodeId input : node.control_inputs) sure = sure && certain[input];
      certain[id] = sure;
      if (sure && node.op() != "_Retval") anchors_[At(id).device].push_back(id);
    }
    for (std::vector<NodeId>& nodes : anchors_) {
      std::ranges::stable_sort(nodes, {}, [&](NodeId id) { return At(id).finish; });
    }
  }

  // The last node that has finished when the transfer should begin, and that comes before all consumers.
  NodeId AnchorOf(const SimulatedTransfer& transfer) const {
    int first = static_cast<int>(step_.nodes.size());
    double needed = step_.makespan;
    for (const Consumers::Use& use : consumers_.of(transfer.tensor.node)) {
      if (use.output != transfer.tensor.index || At(use.consumer).device != transfer.to) continue;
      first = std::min(first, place_[use.consumer]);
      needed = std::min(needed, latest_start_[use.consumer]);
    }
    const double useful = needed - (transfer.finish - transfer.start);
    if (transfer.start >= useful) return kNoNode;  // the tensor is not available earlier
    const std::vector<NodeId>& nodes = anchors_[transfer.to];
    auto end = std::ranges::upper_bound(nodes, useful, {}, [&](NodeId id) { return At(id).finish; });
    while (end != nodes.begin()) {
      const NodeId id = *--end;
      if (At(id).finish <= transfer.start) break;  // waiting for it would delay nothing
      if (place_[id] < first) return id;
    }
    return kNoNode;
  }

  const Graph& graph_;
  const CostModel& costs_;
  const int64_t min_bytes_;
  const Consumers consumers_;
  SimulatedStep step_;
  LoopFrames frames_;
  std::vector<NodeId> order_;
  std::vector<int> place_;            // by node id: the position in the simulated order
  std::vector<double> latest_start_;  // by node id
  std::vector<std::vector<NodeId>> anchors_;
};

}  // namespace

NodeId RecvSchedule::Find(Endpoint tensor, const std::string& device) const {
  auto found = after.find({tensor.node, tensor.index, device});
  return found == after.end() ? kNoNode : found->second;
}

StatusOr<RecvSchedule> ScheduleRecvs(const Graph& graph, const CostModel& costs, int64_t min_bytes) {
  return RecvScheduler(graph, costs, min_bytes).Run();
}

}  // namespace weir
