// Gradients of special functions.
#include <cmath>
#include <numbers>

#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;
using std::numbers::pi;

Value Square(Value x) { return Unary("Square", x); }
Value Exp(Value x) { return Unary("Exp", x); }
Value Log(Value x) { return Unary("Log", x); }

using Derivative = Value (*)(Value x, Value y);  // to be multiplied with what flows in

void AddUnary(GradientRegistry& r, std::string_view op, Derivative derivative) {
  r.Add(op, [derivative](G& g) -> Gradients { return {g.grad() * derivative(g.input(0), g.output(0))}; });
}

void AddErrorFunctions(GradientRegistry& r) {
  AddUnary(r, "Erf", [](Value x, Value) { return 2.0 / std::sqrt(pi) * Exp(-Square(x)); });
  AddUnary(r, "Erfc", [](Value x, Value) { return -2.0 / std::sqrt(pi) * Exp(-Square(x)); });
  AddUnary(r, "Erfinv", [](Value, Value y) { return std::sqrt(pi) / 2 * Exp(Square(y)); });
  AddUnary(r, "Ndtri", [](Value, Value y) { return std::sqrt(2 * pi) * Exp(0.5 * Square(y)); });
  AddUnary(r, "Dawsn", [](Value x, Value y) { return 1.0 - 2.0 * (x * y); });
  AddUnary(r, "Expint", [](Value x, Value) { return Exp(x) / x; });
  AddUnary(r, "FresnelCos", [](Value x, Value) { return Unary("Cos", pi / 2 * Square(x)); });
  AddUnary(r, "FresnelSin", [](Value x, Value) { return Unary("Sin", pi / 2 * Square(x)); });
  AddUnary(r, "Spence",
           [](Value x, Value) { return Select(Binary("Equal", x, Scalar(x, 1)), -OnesLike(x), Log(x) / (1.0 - x)); });
}

void AddGammaFunctions(GradientRegistry& r) {
  AddUnary(r, "Lgamma", [](Value x, Value) { return Unary("Digamma", x); });
  AddUnary(r, "Digamma", [](Value x, Value) { return Binary("Polygamma", Scalar(x, 1), x); });
  // Nothing flows to the order.
  r.Add("Polygamma", [](G& g) -> Gradients {
    Value partial = Binary("Polygamma", g.input(0) + 1.0, g.input(1));
    return {{}, SumToShapeOf(partial * g.grad(), g.input(1), g.input(0))};
  });
  r.Add("Zeta", [](G& g) -> Gradients {
    Value partial = -g.input(0) * Binary("Zeta", g.input(0) + 1.0, g.input(1));
    return {{}, SumToShapeOf(partial * g.grad(), g.input(1), g.input(0))};
  });
  for (const char* op : {"Igamma", "Igammac"}) {
    const bool lower = std::string_view(op) == "Igamma";
    r.Add(op, [lower](G& g) -> Gradients {
      Value a = g.input(0), x = g.input(1), dz = lower ? g.grad() : -g.grad();
      Value partial_x = Exp(-x + (a - 1.0) * Log(x) - Unary("Lgamma", a));
      return SumToOperands(a, x, Binary("IgammaGradA", a, x) * dz, partial_x * dz);
    });
  }
  r.Add("Betainc", [](G& g) -> Gradients {
    Value a = g.input(0), b = g.input(1), x = g.input(2);
    Value log_beta = Unary("Lgamma", a) + Unary("Lgamma", b) - Unary("Lgamma", a + b);
    Value partial = Exp(Binary("Xlog1py", b - 1.0, -x) + Binary("Xlogy", a - 1.0, x) - log_beta);
    return {{}, {}, SumToShapeOf(partial * g.grad(), x, g.output(0))};
  });
}

// Where x is 0, I1(x) / x and J1(x) / x are 0 / 0; the value there is TensorFlow's.
Value AtZero(Value x, double there, Value elsewhere) {
  return Select(Binary("Equal", x, Scalar(x, 0)), there * OnesLike(x), elsewhere);
}

void AddBesselFunctions(GradientRegistry& r) {
  AddUnary(r, "BesselI0", [](Value x, Value) { return Unary("BesselI1", x); });
  AddUnary(r, "BesselI0e", [](Value x, Value y) { return Unary("BesselI1e", x) - Unary("Sign", x) * y; });
  AddUnary(r, "BesselI1", [](Value x, Value y) { return AtZero(x, 1.0, Unary("BesselI0", x) - y / x); });
  AddUnary(r, "BesselI1e",
           [](Value x, Value y) { return AtZero(x, 0.5, Unary("BesselI0e", x) - y * (Unary("Sign", x) + 1.0 / x)); });
  AddUnary(r, "BesselJ0", [](Value x, Value) { return -Unary("BesselJ1", x); });
  AddUnary(r, "BesselJ1", [](Value x, Value y) { return AtZero(x, 0.5, Unary("BesselJ0", x) - y / x); });
  AddUnary(r, "BesselY0", [](Value x, Value) { return -Unary("BesselY1", x); });
  AddUnary(r, "BesselY1", [](Value x, Value y) { return Unary("BesselY0", x) - y / x; });
  AddUnary(r, "BesselK0", [](Value x, Value) { return -Unary("BesselK1", x); });
  AddUnary(r, "BesselK0e", [](Value x, Value y) { return y - Unary("BesselK1e", x); });
  AddUnary(r, "BesselK1", [](Value x, Value y) { return -Unary("BesselK0", x) - y / x; });
  AddUnary(r, "BesselK1e", [](Value x, Value y) { return y * (1.0 - 1.0 / x) - Unary("BesselK0e", x); });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterSpecialGradients(GradientRegistry& r) {
  emit::AddErrorFunctions(r);
  emit::AddGammaFunctions(r);
  emit::AddBesselFunctions(r);
}

}  // namespace weir
