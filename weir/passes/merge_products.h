// Sums of products: what weights that are used several times get as their gradient.
#ifndef WEIR_PASSES_MERGE_PRODUCTS_H_
#define WEIR_PASSES_MERGE_PRODUCTS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// AddN(MatMul(a, b), MatMul(c, d), ...) with transposed first operands becomes the one product of [a; c; ...] and [b;
// d;
// ...]: the gradient of a recurrent cell's weights is then written once, not once a step and once more for the sum.
// The same for the sums of BiasAddGrad that go with it. Sums of few terms stay as they are.
Status MergeProducts(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_MERGE_PRODUCTS_H_
