// Fusing scatters: a step of sparse descent goes over its updates once.
#ifndef WEIR_DEVICE_CPU_REWRITES_FUSE_SCATTER_H_
#define WEIR_DEVICE_CPU_REWRITES_FUSE_SCATTER_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// A ResourceScatterSub of floats whose updates are the product of a tensor and a constant scalar, seen by nobody else,
// becomes _ScaledResourceScatterSub, which multiplies on the way.
Status FuseScatters(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_FUSE_SCATTER_H_
