// Dependencies: fewer nodes and control edges between the same effects.
#ifndef WEIR_PASSES_DEPENDENCY_H_
#define WEIR_PASSES_DEPENDENCY_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Drops control edges that a data edge implies or that come from a constant without inputs, lets consumers of an
// Identity read its input, and leads control edges around NoOp nodes where that makes fewer of them. An Identity that
// reads a reference, or that marks a branch of a Switch, stays.
Status SimplifyDependencies(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_DEPENDENCY_H_
