// Arithmetic: simpler computations with the same bits as results.
#ifndef WEIR_PASSES_ARITHMETIC_H_
#define WEIR_PASSES_ARITHMETIC_H_

#include "weir/passes/rewrite.h"

namespace weir {

// x*1, x/1 and x-0 with scalar constants (x+0 for integers only: it makes +0 of -0), two transposes that cancel, a
// reshape of a reshape, casts that lose nothing and come back, double negation, inversion and conjugation.
Status SimplifyArithmetic(Graph* graph);

}  // namespace weir

#endif  // WEIR_PASSES_ARITHMETIC_H_
