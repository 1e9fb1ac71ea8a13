// Region: the part of a graph that one sweep differentiates: the nodes of one frame. A loop inside it counts as one
// unit.
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
  std::vector<NodeId> enters;  // of a loop: its Enters from this region, by id
  std::vector<NodeId> exits;   // of a loop: its Exits into this region, by id
};

// One branch of a conditional: (predicate, branch).
using Guard = std::pair<Endpoint, int>;

class Region {
 public:
  // REQUIRES: both outlive the region; `frames` belongs to `graph`.
  static StatusOr<Region> Make(const Graph& graph, const LoopFrames& frames, int frame);

  int frame() const { return frame_; }
  // The units in topological order.
  const std::vector<RegionUnit>& units() const { return units_; }
  // The conditionals that contain a tensor of the region: it is dead unless every predicate chose the given branch.
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
