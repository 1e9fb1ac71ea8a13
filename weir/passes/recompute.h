// Recomputation: activations that only the backward pass still wants are computed again there, instead of being kept
// from the forward pass on.
#ifndef WEIR_PASSES_RECOMPUTE_H_
#define WEIR_PASSES_RECOMPUTE_H_

#include "weir/passes/recompute_options.h"
#include "weir/passes/rewrite_context.h"

namespace weir {

// A block is a connected set of marked nodes with the same value of the attribute. What the backward pass takes of a
// block is computed again from what flows into it, and whatever flows from one block into another is kept. Nodes with
// side effects, random numbers among them, are not run again: their results are kept, too.
//
// What is chosen are trees of cheap operations (elementwise ones, and OpSchema::is_recomputable) that have one large
// operand in all, such as a batch norm and its activation after a convolution: if keeping that operand alone takes less
// memory than keeping what the backward pass takes of the tree. Sizes that are not known count as one number.
//
// The copies wait for a gradient that the first of their consumers takes as well, since they would otherwise run at
// once. Loops, and whatever depends on a conditional, stay as they are. Runs before placement, after equal nodes were
// merged, and does not change results.
Status RecomputeActivations(RewriteContext& context, const RecomputeOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_RECOMPUTE_H_
