// Conversion of elements between number types, as Cast does it.
#ifndef WEIR_OPS_MATH_CAST_H_
#define WEIR_OPS_MATH_CAST_H_

#include "weir/tensor/dtype.h"

namespace weir {

// Converts n elements; null if there is no conversion between the types.
using CastLoop = void (*)(const void* from, void* to, int64_t n);
CastLoop FindCast(DType from, DType to);

// Parts of FindCast, split to keep the compiler's work small.
CastLoop FindCastFromFloat(DType from, DType to);    // from floating and complex types
CastLoop FindCastFromInteger(DType from, DType to);  // from integers and bool

}  // namespace weir

#endif  // WEIR_OPS_MATH_CAST_H_
