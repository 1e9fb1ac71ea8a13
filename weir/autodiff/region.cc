#include "weir/autodiff/region.h"

#include <algorithm>
#include <queue>

namespace weir {
namespace {

// The frame in which a node runs; an Exit runs inside the loop that it leaves.
int RunsIn(const Graph& graph, const LoopFrames& frames, const Node& node) {
  if (IsExit(node) && !node.inputs.empty()) return frames.of_node[node.inputs[0].node];
  return frames.of_node[node.id];
}

void AddGuard(std::vector<Guard>& guards, const Guard& guard) {
  if (std::ranges::find(guards, guard) == guards.end()) guards.push_back(guard);
}

}  // namespace

bool IsLoopSwitch(const Graph& graph, const Node& node) {
  return IsSwitch(node) && IsLoopCond(*graph.node(node.inputs[1].node));
}

StatusOr<Region> Region::Make(const Graph& graph, const LoopFrames& frames, int frame) {
  Region region(graph, frame);
  WEIR_RETURN_IF_ERROR(region.Order(frames));
  region.FindGuards();
  return region;
}

// Collects the units and sorts them topologically. A loop, including the loops inside it, is a single unit, which its
// Enters and Exits connect to the other units, so only the back edges of the region's own loop have to be left out.
// Among ready units the one with the lowest index comes first: equal graphs get equal gradients.
Status Region::Order(const LoopFrames& frames) {
  // The unit that each node belongs to; -1: outside of the region.
  std::vector<int> unit_of(graph_->num_node_ids(), -1);
  std::vector<int> unit_of_frame(frames.frames.size(), -1);
  std::vector<RegionUnit> units;
  for (const auto& node : graph_->nodes()) {
    if (!node || node->id >= static_cast<NodeId>(frames.of_node.size())) continue;
    int frame = RunsIn(*graph_, frames, *node);
    int inner = -1;
    while (frame > frame_ && frame >= 0) {
      inner = frame;
      frame = frames.frames[frame].parent;
    }
    if (frame != frame_) continue;
    if (inner < 0) {
      unit_of[node->id] = static_cast<int>(units.size());
      units.push_back({node->id, -1, {}, {}});
      continue;
    }
    if (unit_of_frame[inner] < 0) {
      unit_of_frame[inner] = static_cast<int>(units.size());
      units.push_back({kNoNode, inner, {}, {}});
    }
    const int unit = unit_of_frame[inner];
    unit_of[node->id] = unit;
    if (IsEnter(*node) && frames.of_node[node->id] == inner) units[unit].enters.push_back(node->id);
    if (IsExit(*node) && frames.of_node[node->id] == frame_) units[unit].exits.push_back(node->id);
  }

  std::vector<std::vector<int>> consumers(units.size());
  std::vector<int> pending(units.size(), 0);
  for (const auto& node : graph_->nodes()) {
    if (!node || unit_of[node->id] < 0) continue;
    const int unit = unit_of[node->id];
    auto add = [&](NodeId input) {
      const int from = unit_of[input];
      if (from < 0 || from == unit) return;
      if (IsMerge(*node) && IsNextIteration(*graph_->node(input))) return;
      consumers[from].push_back(unit);
      ++pending[unit];
    };
    for (Endpoint input : node->inputs) add(input.node);
    for (NodeId input : node->control_inputs) add(input);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < units.size(); ++i) {
    if (pending[i] == 0) ready.push(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int unit = ready.top();
    ready.pop();
    for (int consumer : consumers[unit]) {
      if (--pending[consumer] == 0) ready.push(consumer);
    }
    units_.push_back(std::move(units[unit]));
  }
  if (units_.size() < units.size()) return InvalidArgument("A loop of the graph depends on its own results");
  return OkStatus();
}

// A node is dead if any of its inputs is dead, so it is under the guards of all its inputs. A Merge is dead only if all
// inputs are dead, so it is under the guards that all its inputs share.
void Region::FindGuards() {
  const bool any = std::ranges::any_of(units_, [&](const RegionUnit& unit) {
    return unit.node != kNoNode && IsSwitch(*graph_->node(unit.node)) &&
           !IsLoopSwitch(*graph_, *graph_->node(unit.node));
  });
  if (!any) return;
  guards_.resize(graph_->num_node_ids());
  for (const RegionUnit& unit : units_) {
    if (unit.node == kNoNode) {
      std::vector<Guard> guards;
      for (NodeId enter : unit.enters) {
        for (const Guard& guard : GuardsOf(graph_->node(enter)->inputs[0])) AddGuard(guards, guard);
      }
      for (NodeId exit : unit.exits) guards_[exit] = guards;
      continue;
    }
    const Node& node = *graph_->node(unit.node);
    std::vector<Guard>& guards = guards_[node.id];
    bool first = true;
    for (Endpoint input : node.inputs) {
      if (IsMerge(node) && IsNextIteration(*graph_->node(input.node))) continue;
      std::vector<Guard> of_input = GuardsOf(input);
      if (IsMerge(node) && !first) {
        std::erase_if(guards, [&](const Guard& guard) { return std::ranges::find(of_input, guard) == of_input.end(); });
      } else {
        for (const Guard& guard : of_input) AddGuard(guards, guard);
      }
      first = false;
    }
    for (NodeId input : node.control_inputs) {
      for (const Guard& guard : guards_[input]) AddGuard(guards, guard);
    }
  }
}

std::vector<Guard> Region::GuardsOf(Endpoint tensor) const {
  if (guards_.empty() || tensor.node >= static_cast<NodeId>(guards_.size())) return {};
  std::vector<Guard> guards = guards_[tensor.node];
  const Node& node = *graph_->node(tensor.node);
  if (IsSwitch(node) && !IsLoopSwitch(*graph_, node)) AddGuard(guards, {node.inputs[1], tensor.index});
  return guards;
}

}  // namespace weir
