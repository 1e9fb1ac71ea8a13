// The cost graph of a step: the nodes that ran, with the time that each took and the sizes of its outputs.
#ifndef WEIR_RUNTIME_COST_GRAPH_H_
#define WEIR_RUNTIME_COST_GRAPH_H_

#include <string>
#include <vector>

#include "weir/graph/graph.h"
#include "weir/runtime/step_report.h"

namespace weir {

// A serialized CostGraphDef in TensorFlow's form: ids 0 and 1 are the source and the sink of the graph; the times of a
// node that ran more than once (in a loop) are summed. Nodes that the executor does not run (constants, feeds) have no
// cost, and the sizes of their outputs are unknown.
std::string BuildCostGraph(const std::vector<const Graph*>& partitions, const std::vector<DeviceStats>& stats);

}  // namespace weir

#endif  // WEIR_RUNTIME_COST_GRAPH_H_
