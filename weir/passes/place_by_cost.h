// Placement by costs: joins the graph (place.h), its costs (cost_model.h) and the algorithms (placer.h).
#ifndef WEIR_PASSES_PLACE_BY_COST_H_
#define WEIR_PASSES_PLACE_BY_COST_H_

#include "weir/passes/cost_model.h"
#include "weir/passes/place.h"
#include "weir/passes/placer.h"

namespace weir {

// As PlaceGraph, which still says where each node may be, with the choice among those devices left to `kind`. Loops
// stay in one piece where they can: each edge that leaves one costs a message an iteration.
Status PlaceGraphByCost(Graph* graph, PlacementOptions options, PlacerKind kind,
                        std::shared_ptr<const CostTable> measured);

// A placed graph as it would be executed. A loop counts as one iteration, a conditional as both branches.
struct SimulatedNode {
  NodeId node = kNoNode;
  int device = 0;
  double start = 0, finish = 0;
};
struct SimulatedTransfer {
  Endpoint tensor;  // index -1: a control edge
  int from = 0, to = 0;
  int64_t bytes = 0;
  double start = 0, finish = 0;
};
struct SimulatedStep {
  std::vector<std::string> devices;
  std::vector<SimulatedNode> nodes;          // in the order in which they start; those that do not run (constants) too
  std::vector<SimulatedTransfer> transfers;  // one for each tensor and destination
  double makespan = 0;
};
// REQUIRES: every node has an assigned device.
StatusOr<SimulatedStep> SimulateStep(const Graph& graph, const CostModel& costs);

}  // namespace weir

#endif  // WEIR_PASSES_PLACE_BY_COST_H_
