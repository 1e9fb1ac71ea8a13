// Reference variables share their memory with all readers: consumers that read a reference as a plain tensor share it,
// and so do ops whose output is a view of their input. TensorFlow programs rely on seeing later writes.
#ifndef WEIR_PASSES_REFERENCE_VIEWS_H_
#define WEIR_PASSES_REFERENCE_VIEWS_H_

#include "weir/graph/graph.h"

namespace weir {

// The node that outputs the reference whose memory the tensor shares; kNoNode if the tensor has its own memory.
NodeId ReferenceBehind(const Graph& graph, Endpoint tensor);

}  // namespace weir

#endif  // WEIR_PASSES_REFERENCE_VIEWS_H_
