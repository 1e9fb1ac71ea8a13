// Common subexpression elimination: keeps one of several equal computations.
#ifndef WEIR_PASSES_COMMON_SUBEXPRESSION_H_
#define WEIR_PASSES_COMMON_SUBEXPRESSION_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Merges pure nodes with equal op, attributes, inputs, control inputs and requested device. The two inputs of a
// commutative op may be swapped. The first node stays and takes over the consumers of the others.
Status EliminateCommonSubexpressions(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_COMMON_SUBEXPRESSION_H_
