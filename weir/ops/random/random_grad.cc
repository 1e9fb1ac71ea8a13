// Gradients of samples with respect to the parameters of their distribution.
#include <cmath>

#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// A sample has `outer` dimensions before those of alpha.
Value GammaGradient(G& g, Value alpha, Value outer) {
  Value ones = Fill(Reshape(outer, Ints(alpha, {1})), Int(alpha, 1));
  Value spread = Reshape(alpha, Concat({ones, Shape(alpha)}, 0));
  Value partial = Binary("RandomGammaGrad", spread, g.output(0));
  return Sum(g.grad() * partial, Range(Int(alpha, 0), outer));
}

// The normal distribution's function, from the side where no digits are lost.
Value Ndtr(Value x) {
  const double half = 0.5 * std::sqrt(2.0);
  Value w = half * x, z = Unary("Abs", w), bound = Scalar(x, half), zero = Scalar(x, 0);
  Value tail = Unary("Erfc", z);
  Value far = Select(Binary("Greater", w, zero), 2.0 - tail, tail);
  return 0.5 * Select(Binary("Less", z, bound), Unary("Erf", w) + 1.0, far);
}

Gradients TruncatedNormalGradient(G& g) {
  Value mean = g.input(2), deviation = g.input(3), low = g.input(4), high = g.input(5), sample = g.output(0);
  auto standard = [&](Value x) { return (x - mean) / deviation; };
  Value a = standard(low), b = standard(high), z = standard(sample);
  Value cdf = (Ndtr(z) - Ndtr(a)) / (Ndtr(b) - Ndtr(a));
  const bool is_double = mean.dtype() == DType::kDouble;
  const double tiny = is_double ? 2.2250738585072014e-308 : 1.17549435e-38;
  const double epsilon = is_double ? 2.220446049250313e-16 : 1.1920929e-07;
  cdf = Binary("Maximum", Binary("Minimum", cdf, Scalar(cdf, 1 - epsilon)), Scalar(cdf, tiny));
  Value z2 = Unary("Square", z), flow = g.grad();
  auto of_bound = [&](Value bound, Value log) { return Unary("Exp", 0.5 * (z2 - Unary("Square", bound)) + log); };
  Value of_high = of_bound(b, Unary("Log", cdf)), of_low = of_bound(a, Unary("Log1p", -cdf));
  return {{},
          {},
          SumToShapeOf(flow, mean, sample),
          SumToShapeOf(flow * z, deviation, sample),
          SumToShapeOf(flow * of_low, low, sample),
          SumToShapeOf(flow * of_high, high, sample)};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterRandomGradients(GradientRegistry& r) {
  r.Add("RandomGamma", [](GradientContext& g) -> Gradients {
    return {{}, emit::GammaGradient(g, g.input(1), emit::Size(g.input(0)))};
  });
  auto stateless = [](GradientContext& g, int alpha) {
    Gradients out(alpha);
    Value a = g.input(alpha);
    out.push_back(emit::GammaGradient(g, a, emit::operator-(emit::Size(g.input(0)), emit::Rank(a))));
    return out;
  };
  r.Add("StatelessRandomGammaV2", [stateless](GradientContext& g) { return stateless(g, 2); });
  r.Add("StatelessRandomGammaV3", [stateless](GradientContext& g) { return stateless(g, 4); });
  r.Add("StatelessParameterizedTruncatedNormal", emit::TruncatedNormalGradient);
}

}  // namespace weir
