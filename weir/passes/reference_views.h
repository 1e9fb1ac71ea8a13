// Old-style variables are memory that every reader shares. A consumer that takes a reference as a plain tensor, and ops
// whose output is a view of their input, share that memory too: TensorFlow's programs rely on seeing later writes in
// it.
#ifndef WEIR_PASSES_REFERENCE_VIEWS_H_
#define WEIR_PASSES_REFERENCE_VIEWS_H_

#include "weir/graph/graph.h"

namespace weir {

// The node that a tensor's memory comes from if it is that of a reference; kNoNode if the memory is its own.
NodeId ReferenceBehind(const Graph& graph, Endpoint tensor);

}  // namespace weir

#endif  // WEIR_PASSES_REFERENCE_VIEWS_H_
