// Arithmetic: simpler computations.
#ifndef WEIR_PASSES_ARITHMETIC_H_
#define WEIR_PASSES_ARITHMETIC_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// x*1, x/1 and x-0 with scalar constants (x+0 for integers only: it makes +0 of -0), two transposes that cancel, a
// reshape of a reshape, casts that lose nothing and come back, double negation, inversion and conjugation. All results
// have the same bits as before.
Status SimplifyArithmetic(RewriteContext& context);

// Divisions of floating-point and complex numbers by constants become products with their reciprocals, which are
// rounded otherwise. TensorFlow does this in graphs of four nodes and more, and its clients compare what they make of
// the results (floor(x / 0.3)), so the same is done in graphs that have as many without their results.
Status MultiplyByReciprocals(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_ARITHMETIC_H_
