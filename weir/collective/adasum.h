// Adasum: adds two gradients without counting twice what they have in common: (1 - a.b / 2|a|^2) a + (1 - a.b / 2|b|^2)
// b.
#ifndef WEIR_COLLECTIVE_ADASUM_H_
#define WEIR_COLLECTIVE_ADASUM_H_

#include <cstdint>

#include "weir/tensor/dtype.h"

namespace weir::collective {

// The dot product and the norms are computed in double. `out` may be `a` or `b`. REQUIRES: a floating type.
void CombineAdasum(DType dtype, const void* a, const void* b, void* out, int64_t count);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_ADASUM_H_
