// Arithmetic simplification: replaces computations by cheaper ones.
#ifndef WEIR_PASSES_ARITHMETIC_H_
#define WEIR_PASSES_ARITHMETIC_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// x*1, x/1 and x-0 with scalar constants (x+0 for integers only: it makes +0 of -0), two transposes that cancel, a
// reshape of a reshape, casts that lose nothing and come back, double negation, inversion and conjugation. All results
// have the same bits as before.
Status SimplifyArithmetic(RewriteContext& context);

// Replaces divisions of floating-point and complex numbers by constants with multiplications by the reciprocal, which
// changes the rounding. TensorFlow does this in graphs of four or more nodes, and results that depend on it are visible
// (floor(x / 0.3)). So the pass applies to graphs with at least as many nodes, not counting the `_Retval` nodes.
Status MultiplyByReciprocals(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_ARITHMETIC_H_
