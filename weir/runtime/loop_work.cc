#include "weir/runtime/loop_work.h"

#include "weir/graph/loop_frames.h"

namespace weir {

std::vector<LoopWork> FindLoopWork(const Graph& graph, const std::function<bool(const Node&)>& is_work) {
  std::vector<LoopWork> out(graph.num_node_ids(), LoopWork::kNone);
  StatusOr<LoopFrames> frames = FindLoopFrames(graph);
  if (!frames.ok() || !frames->any()) return out;
  auto outermost = [&](const Node& node) {
    int frame = frames->of_node[IsExit(node) ? node.inputs[0].node : node.id];
    while (frames->frames[frame].parent > 0) frame = frames->frames[frame].parent;
    return frame;
  };
  std::vector<bool> has_work(frames->frames.size(), false);
  for (const auto& node : graph.nodes()) {
    if (node && is_work(*node)) has_work[outermost(*node)] = true;
  }
  for (const auto& node : graph.nodes()) {
    const int frame = node ? outermost(*node) : 0;
    if (frame > 0) out[node->id] = has_work[frame] ? LoopWork::kDevice : LoopWork::kHost;
  }
  return out;
}

}  // namespace weir
