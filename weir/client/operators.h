// Operators on tensors of the graph; nodes go into the scope of the left operand that is one.
#ifndef WEIR_CLIENT_OPERATORS_H_
#define WEIR_CLIENT_OPERATORS_H_

#include "weir/base/export.h"
#include "weir/client/input.h"

namespace WEIR_PUBLIC weir {

Output operator-(const Output& a);
// Of booleans.
Output operator!(const Output& a);

// Division of integers is C++'s: towards zero.
#define WEIR_DECLARE_OPERATOR(symbol)                       \
  Output operator symbol(const Output& a, const Output& b); \
  Output operator symbol(const Output& a, const Input& b);  \
  Output operator symbol(const Input& a, const Output& b);
WEIR_DECLARE_OPERATOR(+)
WEIR_DECLARE_OPERATOR(-)
WEIR_DECLARE_OPERATOR(*)
WEIR_DECLARE_OPERATOR(/)
WEIR_DECLARE_OPERATOR(<)
WEIR_DECLARE_OPERATOR(<=)
WEIR_DECLARE_OPERATOR(>)
WEIR_DECLARE_OPERATOR(>=)
#undef WEIR_DECLARE_OPERATOR

}  // namespace weir

#endif  // WEIR_CLIENT_OPERATORS_H_
