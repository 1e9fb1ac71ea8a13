// Gradients of elementwise functions of one number.
#include <cmath>
#include <numbers>

#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The derivative from input, output and what flows in; input and output are conjugated.
using Derivative = Value (*)(Value x, Value y, Value dy);

void AddUnary(GradientRegistry& r, std::string_view op, Derivative derivative) {
  r.Add(op, [derivative](G& g) -> Gradients { return {derivative(Conj(g.input(0)), Conj(g.output(0)), g.grad())}; });
}

// Of ops whose gradient is an op of the output. Some of these conjugate it themselves.
void AddFromOutput(GradientRegistry& r, std::string_view op, const char* gradient_op, bool conjugate = false) {
  r.Add(op, [gradient_op, conjugate](G& g) -> Gradients {
    return {g.Op(gradient_op, {conjugate ? Conj(g.output(0)) : g.output(0), g.grad()})};
  });
}

Value Square(Value x) { return Unary("Square", x); }
Value Exp(Value x) { return Unary("Exp", x); }
Value Sqrt(Value x) { return Unary("Sqrt", x); }
Value Reciprocal(Value x) { return Unary("Reciprocal", x); }

void AddExponentials(GradientRegistry& r) {
  AddUnary(r, "Neg", [](Value, Value, Value dy) { return -dy; });
  AddUnary(r, "Square", [](Value x, Value, Value dy) { return dy * (2.0 * x); });
  AddUnary(r, "Exp", [](Value, Value y, Value dy) { return dy * y; });
  AddUnary(r, "Expm1", [](Value x, Value, Value dy) { return dy * Exp(x); });
  AddUnary(r, "Log", [](Value x, Value, Value dy) { return dy * Reciprocal(x); });
  AddUnary(r, "Log1p", [](Value x, Value, Value dy) { return dy * Reciprocal(x + 1.0); });
  AddFromOutput(r, "Sqrt", "SqrtGrad");
  AddFromOutput(r, "Rsqrt", "RsqrtGrad");
  AddFromOutput(r, "Inv", "ReciprocalGrad");
  AddFromOutput(r, "Reciprocal", "ReciprocalGrad");
  AddFromOutput(r, "Tanh", "TanhGrad", /*conjugate=*/true);
  AddFromOutput(r, "Sigmoid", "SigmoidGrad", /*conjugate=*/true);
}

void AddTrigonometry(GradientRegistry& r) {
  AddUnary(r, "Sin", [](Value x, Value, Value dy) { return dy * Unary("Cos", x); });
  AddUnary(r, "Cos", [](Value x, Value, Value dy) { return -dy * Unary("Sin", x); });
  AddUnary(r, "Tan", [](Value x, Value, Value dy) { return dy * Square(Reciprocal(Unary("Cos", x))); });
  AddUnary(r, "Asin", [](Value x, Value, Value dy) { return dy * Reciprocal(Sqrt(1.0 - Square(x))); });
  AddUnary(r, "Acos", [](Value x, Value, Value dy) { return -dy * Reciprocal(Sqrt(1.0 - Square(x))); });
  AddUnary(r, "Atan", [](Value x, Value, Value dy) { return dy * Reciprocal(Square(x) + 1.0); });
  AddUnary(r, "Sinh", [](Value x, Value, Value dy) { return dy * Unary("Cosh", x); });
  AddUnary(r, "Cosh", [](Value x, Value, Value dy) { return dy * Unary("Sinh", x); });
  AddUnary(r, "Asinh", [](Value, Value y, Value dy) { return dy / Unary("Cosh", y); });
  AddUnary(r, "Acosh", [](Value, Value y, Value dy) { return dy / Unary("Sinh", y); });
  AddUnary(r, "Atanh", [](Value x, Value, Value dy) { return dy * Reciprocal(1.0 - Square(x)); });
}

// Gradients of the gradient ops themselves: (y, dy) -> dx.
void AddSecondDerivatives(GradientRegistry& r) {
  for (const char* op : {"InvGrad", "ReciprocalGrad"}) {
    r.Add(op, [](G& g) -> Gradients {
      Value y = Conj(g.input(0)), grad = g.grad();
      return {-2.0 * (Conj(grad) * g.input(1) * y), g.Op("ReciprocalGrad", {y, grad})};
    });
  }
  r.Add("SqrtGrad", [](G& g) -> Gradients {
    Value scaled = g.grad() / g.input(0);
    return {-Conj(scaled) * g.output(0), 0.5 * scaled};
  });
  r.Add("RsqrtGrad", [](G& g) -> Gradients {
    Value y = Conj(g.input(0)), grad = g.grad();
    return {-1.5 * (Conj(grad) * g.input(1) * Square(y)), g.Op("RsqrtGrad", {y, grad})};
  });
  r.Add("TanhGrad", [](G& g) -> Gradients {
    Value y = Conj(g.input(0)), dy = Conj(g.input(1)), grad = g.grad();
    return {-2.0 * (grad * dy * y), g.Op("TanhGrad", {y, grad})};
  });
  r.Add("SigmoidGrad", [](G& g) -> Gradients {
    Value y = Conj(g.input(0)), grad = g.grad();
    Value flow = grad * Conj(g.input(1));
    return {flow - 2.0 * (flow * y), g.Op("SigmoidGrad", {y, grad})};
  });
}

void AddAll(GradientRegistry& r) {
  AddExponentials(r);
  AddTrigonometry(r);
  AddSecondDerivatives(r);
  r.Add("Abs", [](G& g) -> Gradients { return {g.grad() * Unary("Sign", g.input(0))}; });
  r.Add("Sign", [](G& g) -> Gradients { return {ZerosLike(g.input(0))}; });
  // Steps: their derivative is zero wherever it is defined, and nothing flows.
  for (const char* op : {"Floor", "Ceil", "Round", "Rint"}) {
    r.Add(op, [](G&) -> Gradients { return {}; });
  }
  r.Add("Cast", [](G& g) -> Gradients {
    DType from = g.input(0).dtype(), to = g.output(0).dtype();
    auto flows = [](DType dtype) { return IsFloating(dtype) || IsComplex(dtype); };
    if (!flows(from) || !flows(to)) return {};
    return {Cast(g.grad(), from)};
  });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterUnaryGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
