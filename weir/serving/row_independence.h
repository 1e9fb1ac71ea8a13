// Whether requests of a signature may run as one batch without being asked to.
//
// Rows of an output are independent if row i depends on row i of the inputs alone. Then a batch gives each request what
// it would have got by itself, up to rounding. The analysis follows the first dimension through operations that it
// knows (products with fixed weights, convolutions, elementwise operations, reductions along other dimensions, ...);
// whatever it does not know, and whatever changes state, makes the answer no.
#ifndef WEIR_SERVING_ROW_INDEPENDENCE_H_
#define WEIR_SERVING_ROW_INDEPENDENCE_H_

#include <vector>

#include "weir/graph/graph.h"
#include "weir/passes/prune.h"

namespace weir {

// For each fetch of the step, whether its rows are independent.
StatusOr<std::vector<bool>> FindRowIndependence(const Graph& graph, const StepSignature& step);

}  // namespace weir

#endif  // WEIR_SERVING_ROW_INDEPENDENCE_H_
