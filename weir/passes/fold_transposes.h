// Transposes beside products of matrices: attention has one before and after each.
#ifndef WEIR_PASSES_FOLD_TRANSPOSES_H_
#define WEIR_PASSES_FOLD_TRANSPOSES_H_

#include "weir/passes/rewrite.h"

namespace weir {

// A BatchMatMul of floats takes its operands as they lie before a Transpose (and the Unpack of its result), and writes
// its result as a Transpose would leave it, where shapes are known, rows stay together in memory and nobody else takes
// what is transposed. It becomes _BatchMatMulOfViews; what is then not needed stays for RemoveUnused.
Status FoldTransposes(Graph* graph);

}  // namespace weir

#endif  // WEIR_PASSES_FOLD_TRANSPOSES_H_
