// Merges sums of matrix products, which are the gradients of weights that are used several times.
#ifndef WEIR_PASSES_MERGE_PRODUCTS_H_
#define WEIR_PASSES_MERGE_PRODUCTS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Turns AddN(MatMul(a, b), MatMul(c, d), ...) with transposed first operands into a single product of [a; c; ...] and
// [b; d; ...]. The gradient of a recurrent cell's weights is then written once, instead of once per step and once more
// for the sum. Sums of BiasAddGrad are merged in the same way. Sums of few terms are left alone.
Status MergeProducts(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_MERGE_PRODUCTS_H_
