// The cost graph of a step: its nodes as they ran, with what each took and gave.
#ifndef WEIR_RUNTIME_COST_GRAPH_H_
#define WEIR_RUNTIME_COST_GRAPH_H_

#include <string>
#include <vector>

#include "weir/graph/graph.h"
#include "weir/runtime/step_report.h"

namespace weir {

// A serialized CostGraphDef in TensorFlow's form: ids 0 and 1 are the source and the sink of the whole; a node that ran
// more than once (in a loop) has the sum of its times. Nodes that the executor does not run (constants, feeds) cost
// nothing, and their outputs are unknown.
std::string BuildCostGraph(const std::vector<const Graph*>& partitions, const std::vector<DeviceStats>& stats);

}  // namespace weir

#endif  // WEIR_RUNTIME_COST_GRAPH_H_
