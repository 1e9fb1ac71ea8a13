// Common subexpressions: of equal computations one is kept.
#ifndef WEIR_PASSES_COMMON_SUBEXPRESSION_H_
#define WEIR_PASSES_COMMON_SUBEXPRESSION_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Pure nodes of the same op, attributes, inputs, control inputs and requested device are one; those of a commutative op
// of two inputs also if the inputs are swapped. The first stays; the others lose their consumers.
Status EliminateCommonSubexpressions(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_COMMON_SUBEXPRESSION_H_
