// Exponentials, logarithms, trigonometric and hyperbolic functions.
#include <cmath>
#include <limits>

#include "weir/device/cpu/complex_functions.h"
#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// Vectors are slow where a logarithm is no number, so such elements are mirrored at the pole before they reach it. (Not
// by asking whether they are beyond the pole: the compiler would see that these do not matter and leave them alone.)
template <typename T>
T Mirrored(T x, T pole) {
  return std::max(x, 2 * pole - x);
}
template <typename T>
T OnlyBeyond(T pole, T x, T y) {
  return x > pole ? y : x == pole ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
}
template <typename T>
T LogOf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return OnlyBeyond(T(0), x, std::log(Mirrored(x, T(0))));
  } else {
    return std::log(x);
  }
}
template <typename T>
T Log1pOf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return OnlyBeyond(T(-1), x, std::log1p(Mirrored(x, T(-1))));
  } else {
    return Log1p(x);
  }
}

#define WEIR_UNARY_OP(Name, expression) \
  struct Name##Op {                     \
    template <typename T>               \
    static T Do(T x) {                  \
      return expression;                \
    }                                   \
  };
WEIR_UNARY_OP(Exp, std::exp(x))
WEIR_UNARY_OP(Expm1, Expm1(x))
WEIR_UNARY_OP(Log, LogOf(x))
WEIR_UNARY_OP(Log1p, Log1pOf(x))
WEIR_UNARY_OP(Tanh, std::tanh(x))
WEIR_UNARY_OP(Sigmoid, T(1) / (T(1) + std::exp(-x)))
WEIR_UNARY_OP(Sin, std::sin(x))
WEIR_UNARY_OP(Cos, std::cos(x))
WEIR_UNARY_OP(Tan, std::tan(x))
WEIR_UNARY_OP(Sinh, std::sinh(x))
WEIR_UNARY_OP(Cosh, std::cosh(x))
WEIR_UNARY_OP(Asin, std::asin(x))
WEIR_UNARY_OP(Acos, std::acos(x))
WEIR_UNARY_OP(Atan, std::atan(x))
WEIR_UNARY_OP(Asinh, std::asinh(x))
WEIR_UNARY_OP(Acosh, std::acosh(x))
WEIR_UNARY_OP(Atanh, std::atanh(x))
#undef WEIR_UNARY_OP

constexpr auto kInexact = decltype(FloatTypes{} + ComplexTypes{}){};
constexpr ElementwiseOptions kCost = {.cost_ns = 1.5};

}  // namespace

void RegisterExponentialKernels(KernelRegistry& registry) {
  RegisterUnary<ExpOp>(registry, "Exp", kInexact, kCost);
  RegisterUnary<Expm1Op>(registry, "Expm1", kInexact, kCost);
  RegisterUnary<LogOp>(registry, "Log", kInexact, kCost);
  RegisterUnary<Log1pOp>(registry, "Log1p", kInexact, kCost);
  RegisterUnary<TanhOp>(registry, "Tanh", kInexact, kCost);
  RegisterUnary<SigmoidOp>(registry, "Sigmoid", kInexact, kCost);
}

void RegisterTrigonometricKernels(KernelRegistry& registry) {
  RegisterUnary<SinOp>(registry, "Sin", kInexact, kCost);
  RegisterUnary<CosOp>(registry, "Cos", kInexact, kCost);
  RegisterUnary<TanOp>(registry, "Tan", kInexact, kCost);
  RegisterUnary<SinhOp>(registry, "Sinh", kInexact, kCost);
  RegisterUnary<CoshOp>(registry, "Cosh", kInexact, kCost);
  RegisterUnary<AsinOp>(registry, "Asin", kInexact, kCost);
  RegisterUnary<AcosOp>(registry, "Acos", kInexact, kCost);
  RegisterUnary<AtanOp>(registry, "Atan", kInexact, kCost);
  RegisterUnary<AsinhOp>(registry, "Asinh", kInexact, kCost);
  RegisterUnary<AcoshOp>(registry, "Acosh", kInexact, kCost);
  RegisterUnary<AtanhOp>(registry, "Atanh", kInexact, kCost);
}

}  // namespace weir
