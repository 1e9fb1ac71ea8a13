// Old-style variables are memory that everybody sees. Who takes a reference as a plain tensor, and ops that hand their
// input on, share that memory: TensorFlow's programs count on it that such a tensor shows later writes.
#ifndef WEIR_PASSES_REFERENCE_VIEWS_H_
#define WEIR_PASSES_REFERENCE_VIEWS_H_

#include "weir/graph/graph.h"

namespace weir {

// The node that a tensor's memory comes from if it is that of a reference; kNoNode if the memory is its own.
NodeId ReferenceBehind(const Graph& graph, Endpoint tensor);

}  // namespace weir

#endif  // WEIR_PASSES_REFERENCE_VIEWS_H_
