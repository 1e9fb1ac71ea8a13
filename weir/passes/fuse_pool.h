// Pools of padded images: the zeros around an image need not be in memory.
#ifndef WEIR_PASSES_FUSE_POOL_H_
#define WEIR_PASSES_FUSE_POOL_H_

#include "weir/passes/rewrite.h"

namespace weir {

// A MaxPool without padding of an image that a Pad has put zeros around becomes a MaxPool that pads by itself, where
// the image has nothing below zero, as after a Relu: there the zeros never win. Only what nobody else looks at.
// REQUIRES: the nodes run on the host; follows FuseContractions.
Status FusePaddedPools(Graph* graph);

}  // namespace weir

#endif  // WEIR_PASSES_FUSE_POOL_H_
