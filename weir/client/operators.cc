#include "weir/client/operators.h"

#include "weir/client/op_call.h"
#include "weir/client/scope_internal.h"

namespace weir {
namespace {

Output Binary(const char* op, const char* name, const Input& a, const Input& b) {
  // Inside a function's body, an operand may be of the graph around: the node goes into the inner one.
  const bool take_b = a.is_literal() || (!b.is_literal() && a.output().has_scope() && b.output().has_scope() &&
                                         b.output().scope().state()->depth > a.output().scope().state()->depth);
  const Output& tensor = take_b ? b.output() : a.output();
  if (!tensor.has_scope()) return Output();  // no graph to keep the error in; whoever takes the result finds no value
  return OpCall(tensor.scope().WithName(name), op).Add(a).Add(b).Single();
}

Output Divide(const Input& a, const Input& b) {
  const DType dtype = (a.is_literal() ? b : a).natural_dtype();
  return IsInteger(dtype) ? Binary("Div", "div", a, b) : Binary("RealDiv", "truediv", a, b);
}

}  // namespace

Output operator-(const Output& a) { return a.has_scope() ? OpCall(a.scope(), "Neg").Add(a).Single() : Output(); }
Output operator!(const Output& a) { return a.has_scope() ? OpCall(a.scope(), "LogicalNot").Add(a).Single() : Output(); }

#define WEIR_DEFINE_OPERATOR(symbol, expression)                                  \
  Output operator symbol(const Output& a, const Output& b) { return expression; } \
  Output operator symbol(const Output& a, const Input& b) { return expression; }  \
  Output operator symbol(const Input& a, const Output& b) { return expression; }
WEIR_DEFINE_OPERATOR(+, Binary("AddV2", "add", a, b))
WEIR_DEFINE_OPERATOR(-, Binary("Sub", "sub", a, b))
WEIR_DEFINE_OPERATOR(*, Binary("Mul", "mul", a, b))
WEIR_DEFINE_OPERATOR(/, Divide(a, b))
WEIR_DEFINE_OPERATOR(<, Binary("Less", "less", a, b))
WEIR_DEFINE_OPERATOR(<=, Binary("LessEqual", "less_equal", a, b))
WEIR_DEFINE_OPERATOR(>, Binary("Greater", "greater", a, b))
WEIR_DEFINE_OPERATOR(>=, Binary("GreaterEqual", "greater_equal", a, b))
#undef WEIR_DEFINE_OPERATOR

}  // namespace weir
