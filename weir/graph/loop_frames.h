// The loops of a graph, and the frame that each node's outputs belong to.
#ifndef WEIR_GRAPH_LOOP_FRAMES_H_
#define WEIR_GRAPH_LOOP_FRAMES_H_

#include <string>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

struct LoopFrame {
  std::string name;
  int parent = -1;  // index of the surrounding frame; -1 for the root
  int64_t parallel_iterations = 10;
  NodeId loop_cond = kNoNode;
};

struct LoopFrames {
  std::vector<LoopFrame> frames;  // the first is the root
  std::vector<int> of_node;       // by node id: the frame of its outputs (inside for an Enter, outside for an Exit)
  bool any() const { return frames.size() > 1; }
};

// INVALID_ARGUMENT if the inputs of a node come from different frames.
StatusOr<LoopFrames> FindLoopFrames(const Graph& graph);

}  // namespace weir

#endif  // WEIR_GRAPH_LOOP_FRAMES_H_
