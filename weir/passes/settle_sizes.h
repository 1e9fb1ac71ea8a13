// Shapes that are found out when a step runs, and could be known before but for one dimension.
#ifndef WEIR_PASSES_SETTLE_SIZES_H_
#define WEIR_PASSES_SETTLE_SIZES_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// For models whose batch is not known:
//
// - The gradient of `x + y` for x is summed over what x has less of than y, and gets the shape of x. A Reshape of such
//   a Sum that has the shape of what is summed, whatever that is (dimension_sources.h), becomes what is summed.
// - A Reshape to a shape that is computed, with one dimension that is not known and is what the others leave over, gets
//   a constant with -1. Then the shape need not be computed, and devices whose part of the graph does not have that
//   computation know as much.
// - Sizes that are known become constants though they are taken of a shape that is not.
// - A mask that selects from a tensor of full shape loses conditions that always hold: Keras fills a tensor as large as
//   the scores of an attention with true.
//
// Returns whether anything changed: more may be constant then.
StatusOr<bool> SettleSizes(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_SETTLE_SIZES_H_
