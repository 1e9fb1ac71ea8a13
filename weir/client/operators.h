// Operators on tensors of the graph. The node is added to the scope of the left operand, if that is a tensor.
#ifndef WEIR_CLIENT_OPERATORS_H_
#define WEIR_CLIENT_OPERATORS_H_

#include "weir/base/export.h"
#include "weir/client/input.h"

namespace WEIR_PUBLIC weir {

Output operator-(const Output& a);
// For booleans.
Output operator!(const Output& a);

// Integer division is that of C++: it rounds towards zero.
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
