// Reshapes between a dense layer and the sum that takes its result, which keep the two from being fused.
#ifndef WEIR_DEVICE_CPU_REWRITES_SINK_RESHAPES_H_
#define WEIR_DEVICE_CPU_REWRITES_SINK_RESHAPES_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// reshape(x W + b) + y becomes reshape((x W + b) + reshape(y)), where nobody else takes the layer's result, shapes are
// known and nothing is broadcast. Residual networks over sequences have such sums: what is added has one dimension more
// than a product of matrices.
Status SinkReshapes(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_SINK_RESHAPES_H_
