// Transposes beside products of matrices: attention has one before and after each.
#ifndef WEIR_DEVICE_CPU_REWRITES_FOLD_TRANSPOSES_H_
#define WEIR_DEVICE_CPU_REWRITES_FOLD_TRANSPOSES_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// A BatchMatMul of floats takes its operands as they lie before a Transpose (and the Unpack of its result), and writes
// its result as a Transpose would leave it, where shapes are known, rows stay together in memory and nobody else takes
// what is transposed. It becomes _BatchMatMulOfViews; what is then not needed stays for RemoveUnused.
Status FoldTransposes(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_FOLD_TRANSPOSES_H_
