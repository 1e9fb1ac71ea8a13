// Whether requests of a signature may be batched without an explicit request to do so.
//
// Rows of an output are independent if row i depends only on row i of the inputs. A batch then gives each request the
// same result as a step of its own, up to rounding. The analysis follows the first dimension through known operations
// (products with fixed weights, convolutions, elementwise operations, reductions along other dimensions ...). If it
// meets an unknown operation, or one that changes state, the answer is no.
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
