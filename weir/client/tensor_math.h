// Small functions for common combinations of generated ones.
#ifndef WEIR_CLIENT_TENSOR_MATH_H_
#define WEIR_CLIENT_TENSOR_MATH_H_

#include "weir/base/export.h"
#include "weir/client/input.h"

namespace WEIR_PUBLIC weir {

// The mean of all elements.
Output Mean(const Scope& scope, const Output& x);
Output Sum(const Scope& scope, const Output& x);
// Reshapes to [batch, everything else].
Output Flatten(const Scope& scope, const Output& x);
// The size of one dimension, as an int32 scalar; a constant if it is known.
Output DimSize(const Scope& scope, const Output& x, int axis);

}  // namespace weir

#endif  // WEIR_CLIENT_TENSOR_MATH_H_
