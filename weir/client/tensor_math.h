// Small functions over the generated ones, for what is written again and again.
#ifndef WEIR_CLIENT_TENSOR_MATH_H_
#define WEIR_CLIENT_TENSOR_MATH_H_

#include "weir/base/export.h"
#include "weir/client/input.h"

namespace WEIR_PUBLIC weir {

// Over all elements.
Output Mean(const Scope& scope, const Output& x);
Output Sum(const Scope& scope, const Output& x);
// Flattened to [batch, everything else].
Output Flatten(const Scope& scope, const Output& x);
// The size of one dimension, as an int32 scalar: a constant where it is known.
Output DimSize(const Scope& scope, const Output& x, int axis);

}  // namespace weir

#endif  // WEIR_CLIENT_TENSOR_MATH_H_
