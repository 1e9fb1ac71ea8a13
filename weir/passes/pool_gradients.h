// Gradients of an activation before max pooling: applies the activation's gradient to the smaller, pooled tensor.
#ifndef WEIR_PASSES_POOL_GRADIENTS_H_
#define WEIR_PASSES_POOL_GRADIENTS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Turns ReluGrad(MaxPoolGrad(x, y, g), x), where y = MaxPool(x), into MaxPoolGrad(x, y, ReluGrad(g, y)). MaxPoolGrad
// writes only to elements where x equals y, so it is enough to check whether y is positive, and y has fewer elements.
// The results are equal except for the signs of zeros, and for elements of x that are NaN, whose gradient is zero
// otherwise. Applies only if MaxPoolGrad has no other consumer.
Status MoveReluGradients(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_POOL_GRADIENTS_H_
