#include "weir/graph/loop_frames.h"

#include <map>

namespace weir {

StatusOr<LoopFrames> FindLoopFrames(const Graph& graph) {
  WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph));
  LoopFrames out;
  out.frames.emplace_back();
  out.of_node.assign(graph.num_node_ids(), 0);
  std::map<std::pair<int, std::string>, int> known;  // by parent and name
  std::vector<bool> seen(graph.num_node_ids(), false);
  for (NodeId id : order) {
    const Node& node = *graph.node(id);
    seen[id] = true;
    int frame = 0;
    const Node* deepest = nullptr;
    auto take = [&](NodeId input) {
      if (!seen[input]) return OkStatus();  // the next iteration
      int other = out.of_node[input];
      if (other == 0 || other == frame) return OkStatus();
      if (frame != 0) {
        return InvalidArgument("The node '", node.name, "' has inputs from different frames. The input '",
                               deepest->name, "' is in frame '", out.frames[frame].name, "'. The input '",
                               graph.node(input)->name, "' is in frame '", out.frames[other].name, "'.");
      }
      frame = other;
      deepest = graph.node(input);
      return OkStatus();
    };
    for (Endpoint input : node.inputs) WEIR_RETURN_IF_ERROR(take(input.node));
    for (NodeId input : node.control_inputs) WEIR_RETURN_IF_ERROR(take(input));
    if (IsEnter(node)) {
      WEIR_ASSIGN_OR_RETURN(std::string name, node.Attr<std::string>("frame_name"));
      auto [it, fresh] = known.try_emplace({frame, name}, static_cast<int>(out.frames.size()));
      if (fresh) {
        int64_t parallel = node.Attr<int64_t>("parallel_iterations").value_or(10);
        out.frames.push_back({std::move(name), frame, parallel, kNoNode});
      }
      frame = it->second;
    } else if (IsExit(node)) {
      if (frame == 0) return InvalidArgument("The node '", node.name, "' leaves a loop that it is not in");
      frame = out.frames[frame].parent;
    } else if (IsLoopCond(node)) {
      out.frames[frame].loop_cond = id;
    }
    out.of_node[id] = frame;
  }
  return out;
}

}  // namespace weir
