// The part of a graph that is differentiated at once: the nodes of one frame, with every loop inside it as one unit.
#ifndef WEIR_AUTODIFF_REGION_H_
#define WEIR_AUTODIFF_REGION_H_

#include <utility>
#include <vector>

#include "weir/graph/graph.h"
#include "weir/graph/loop_frames.h"

namespace weir {

// A node of the region, or a loop in it.
struct RegionUnit {
  NodeId node = kNoNode;
  int frame = -1;              // of a loop
  std::vector<NodeId> enters;  // of a loop, those from the region into it, by id
  std::vector<NodeId> exits;   // of a loop, those into the region, by id
};

// One side of a conditional: (predicate, branch).
using Guard = std::pair<Endpoint, int>;

class Region {
 public:
  // REQUIRES: both outlive the region; `frames` is that of `graph`.
  static StatusOr<Region> Make(const Graph& graph, const LoopFrames& frames, int frame);

  int frame() const { return frame_; }
  // Units so that inputs come before their consumers.
  const std::vector<RegionUnit>& units() const { return units_; }
  // The conditionals that a tensor of the region is in: it is dead unless each predicate chose that branch.
  std::vector<Guard> GuardsOf(Endpoint tensor) const;

 private:
  Region(const Graph& graph, int frame) : graph_(&graph), frame_(frame) {}
  Status Order(const LoopFrames& frames);
  void FindGuards();

  const Graph* graph_;
  int frame_;
  std::vector<RegionUnit> units_;
  std::vector<std::vector<Guard>> guards_;  // by node; empty vectors if there is no conditional at all
};

// True if the Switch chooses between the next iteration and the end of a loop.
bool IsLoopSwitch(const Graph& graph, const Node& node);

}  // namespace weir

#endif  // WEIR_AUTODIFF_REGION_H_
