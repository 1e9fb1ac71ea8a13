// Fusing scatters: a step of sparse descent goes over its updates once.
#ifndef WEIR_PASSES_FUSE_SCATTER_H_
#define WEIR_PASSES_FUSE_SCATTER_H_

#include "weir/passes/rewrite.h"

namespace weir {

// A ResourceScatterSub of floats whose updates are the product of a tensor and a constant scalar, seen by nobody else,
// becomes _ScaledResourceScatterSub, which multiplies on the way. REQUIRES: all nodes run on the host.
Status FuseScatters(Graph* graph);

}  // namespace weir

#endif  // WEIR_PASSES_FUSE_SCATTER_H_
