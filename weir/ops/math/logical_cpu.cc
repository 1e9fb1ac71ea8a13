// Logic, and the tests of floating-point numbers that answer with a bool.
#include <cmath>

#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct AndOp {
  static bool Do(bool a, bool b) { return a & b; }
};
struct OrOp {
  static bool Do(bool a, bool b) { return a | b; }
};
struct NotOp {
  static bool Do(bool a) { return !a; }
};

struct IsNanOp {
  template <typename T>
  static bool Do(T x) {
    return x != x;
  }
};
struct IsInfOp {
  template <typename T>
  static bool Do(T x) {
    return std::isinf(x);
  }
};
struct IsFiniteOp {
  template <typename T>
  static bool Do(T x) {
    return std::isfinite(x);
  }
};

}  // namespace

void RegisterLogicalKernels(KernelRegistry& registry) {
  using Bool = TypeList<bool>;
  RegisterBinary<AndOp>(registry, "LogicalAnd", Bool{}, {.type_attr = ""});
  RegisterBinary<OrOp>(registry, "LogicalOr", Bool{}, {.type_attr = ""});
  RegisterUnary<NotOp>(registry, "LogicalNot", Bool{}, {.type_attr = ""});
  RegisterUnary<IsNanOp>(registry, "IsNan", FloatTypes{});
  RegisterUnary<IsInfOp>(registry, "IsInf", FloatTypes{});
  RegisterUnary<IsFiniteOp>(registry, "IsFinite", FloatTypes{});
}

}  // namespace weir
