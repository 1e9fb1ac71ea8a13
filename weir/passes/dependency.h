// Dependency simplification: removes nodes and control edges that do not affect the order of effects.
#ifndef WEIR_PASSES_DEPENDENCY_H_
#define WEIR_PASSES_DEPENDENCY_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Removes control edges that are implied by a data edge or that come from a constant without inputs, makes consumers of
// an Identity read its input, and bypasses NoOp nodes where that reduces the number of control edges. An Identity that
// reads a reference or marks a branch of a Switch stays.
Status SimplifyDependencies(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_DEPENDENCY_H_
