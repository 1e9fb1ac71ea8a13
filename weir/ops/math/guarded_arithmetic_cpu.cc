// Products and quotients that define what 0 * inf, 0 / 0 and 0 * log(0) are, and two-argument functions of libm.
#include <cmath>

#include "weir/device/cpu/complex_functions.h"
#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct DivNoNanOp {
  template <typename T>
  static T Do(T a, T b) {
    return b == T(0) ? T(0) : a / b;
  }
};

struct MulNoNanOp {
  template <typename T>
  static T Do(T a, T b) {
    return b == T(0) ? T(0) : WrapMul(a, b);
  }
};

struct XdivyOp {
  template <typename T>
  static T Do(T x, T y) {
    return x == T(0) ? T(0) : x / y;
  }
};

struct XlogyOp {
  template <typename T>
  static T Do(T x, T y) {
    return x == T(0) ? T(0) : WrapMul(x, std::log(y));
  }
};

struct Xlog1pyOp {
  template <typename T>
  static T Do(T x, T y) {
    return x == T(0) ? T(0) : WrapMul(x, Log1p(y));
  }
};

struct Atan2Op {
  template <typename T>
  static T Do(T y, T x) {
    return std::atan2(y, x);
  }
};

struct NextAfterOp {
  template <typename T>
  static T Do(T from, T to) {
    return std::nextafter(from, to);
  }
};

}  // namespace

void RegisterGuardedArithmeticKernels(KernelRegistry& registry) {
  auto types = FloatTypes{} + ComplexTypes{};
  RegisterBinary<DivNoNanOp>(registry, "DivNoNan", types);
  RegisterBinary<MulNoNanOp>(registry, "MulNoNan", types);
  RegisterBinary<XdivyOp>(registry, "Xdivy", types);
  RegisterBinary<XlogyOp>(registry, "Xlogy", types, {.cost_ns = 8});
  RegisterBinary<Xlog1pyOp>(registry, "Xlog1py", types, {.cost_ns = 10});
  RegisterBinary<Atan2Op>(registry, "Atan2", FloatTypes{}, {.cost_ns = 15});
  RegisterBinary<NextAfterOp>(registry, "NextAfter", TypeList<float, double>{}, {.cost_ns = 3});
}

}  // namespace weir
