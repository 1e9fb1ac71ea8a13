// Gradients of an activation under a pool: zeros are set where the image is small.
#ifndef WEIR_PASSES_POOL_GRADIENTS_H_
#define WEIR_PASSES_POOL_GRADIENTS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// ReluGrad(MaxPoolGrad(x, y, g), x) becomes MaxPoolGrad(x, y, ReluGrad(g, y)), where y = MaxPool(x): what a pool's
// gradient puts anywhere it puts where x is y, so asking whether y is above zero is as good, and there are fewer of it.
// The results are the same but for signs of zeros, and for an x that is NaN, which gets what is zero otherwise. Only
// where nobody else looks at the pool's gradient.
Status MoveReluGradients(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_POOL_GRADIENTS_H_
