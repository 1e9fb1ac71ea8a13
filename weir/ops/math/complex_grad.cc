// Gradients between real and complex numbers.
#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Value MakeComplex(Value real, Value imaginary) {
  if (!real || !imaginary) return {};
  DType dtype = real.dtype() == DType::kDouble ? DType::kComplex128 : DType::kComplex64;
  return real.emitter().Op("Complex", {real, imaginary}, {{"Tout", dtype}});
}
Value Part(const char* op, Value x) {
  if (!x) return {};
  DType dtype = x.dtype() == DType::kComplex128 ? DType::kDouble : DType::kFloat;
  return x.emitter().Op(op, {x}, {{"Tout", dtype}});
}

void AddAll(GradientRegistry& r) {
  r.Add("Real", [](G& g) -> Gradients { return {MakeComplex(g.grad(), Scalar(g.grad(), 0))}; });
  r.Add("Imag", [](G& g) -> Gradients { return {MakeComplex(Scalar(g.grad(), 0), g.grad())}; });
  r.Add("Conj", [](G& g) -> Gradients { return {Conj(g.grad())}; });
  r.Add("Complex", [](G& g) -> Gradients {
    return SumToOperands(g.input(0), g.input(1), Part("Real", g.grad()), Part("Imag", g.grad()));
  });
  r.Add("Angle", [](G& g) -> Gradients {
    Value x = g.input(0), dy = g.grad();
    Value inverse = Unary("Reciprocal", MakeComplex(Part("Imag", x), Part("Real", x)));
    return {-MakeComplex(dy, Scalar(dy, 0)) * inverse};
  });
  r.Add("ComplexAbs", [](G& g) -> Gradients {
    Value dy = g.grad(), zero = Scalar(dy, 0);
    return {Binary("DivNoNan", MakeComplex(dy, zero) * g.input(0), MakeComplex(g.output(0), zero))};
  });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterComplexGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
