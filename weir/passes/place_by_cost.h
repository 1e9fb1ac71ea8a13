// Placement by cost: applies the algorithms of placer.h to a graph (place.h) and its costs (cost_model.h).
#ifndef WEIR_PASSES_PLACE_BY_COST_H_
#define WEIR_PASSES_PLACE_BY_COST_H_

#include "weir/passes/cost_model.h"
#include "weir/passes/place.h"
#include "weir/passes/placer.h"

namespace weir {

// Like PlaceGraph, but the algorithm `kind` chooses among the possible devices of each group. Loops are kept on one
// device if possible, because every edge between devices costs a message per iteration.
Status PlaceGraphByCost(Graph* graph, PlacementOptions options, PlacerKind kind,
                        std::shared_ptr<const CostTable> measured);

// A simulated execution of a placed graph. A loop counts as one iteration, a conditional as both branches.
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
  std::vector<SimulatedNode> nodes;          // by start time, including nodes that do not run (constants)
  std::vector<SimulatedTransfer> transfers;  // one for each tensor and destination
  double makespan = 0;
};
// REQUIRES: every node has an assigned device.
StatusOr<SimulatedStep> SimulateStep(const Graph& graph, const CostModel& costs);

}  // namespace weir

#endif  // WEIR_PASSES_PLACE_BY_COST_H_
