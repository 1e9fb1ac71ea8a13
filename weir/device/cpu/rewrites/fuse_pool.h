// Pools of padded images: the zeros around an image need not be in memory.
#ifndef WEIR_DEVICE_CPU_REWRITES_FUSE_POOL_H_
#define WEIR_DEVICE_CPU_REWRITES_FUSE_POOL_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// A MaxPool without padding of an image that a Pad has put zeros around becomes a MaxPool that pads by itself, where
// the image has nothing below zero, as after a Relu: there the zeros never win. Only what nobody else looks at.
// To be run after FuseContractions.
Status FusePaddedPools(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_FUSE_POOL_H_
