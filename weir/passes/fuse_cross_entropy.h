// Cross entropies with labels that are numbers, whose gradient is made when it is known what it is multiplied by.
#ifndef WEIR_PASSES_FUSE_CROSS_ENTROPY_H_
#define WEIR_PASSES_FUSE_CROSS_ENTROPY_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// SparseSoftmaxCrossEntropyWithLogits computes the gradient beside the loss, as large as the logits. Where that is only
// multiplied by one number for each row, both become _SparseCrossEntropy, which keeps a number for each row, and
// _SparseCrossEntropyGrad. Casts of the logits to float before them, and of the gradient back, become part of them: the
// matrix then never exists in float. Results change by rounding.
Status FuseCrossEntropy(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_FUSE_CROSS_ENTROPY_H_
