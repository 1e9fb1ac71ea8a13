// Sums over all rows become part of the fused program whose result they are of.
#ifndef WEIR_PASSES_FUSE_COLUMN_SUMS_H_
#define WEIR_PASSES_FUSE_COLUMN_SUMS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Gradients of the scales and offsets of layer norms are sums over all dimensions but the last. Where such a Sum is all
// that takes a float result of a fused node with operations along rows, that result becomes the sum (`column_sums`),
// and the values it is of are never stored. For devices whose kernels know the attribute.
Status FuseColumnSums(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_FUSE_COLUMN_SUMS_H_
