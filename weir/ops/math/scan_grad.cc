// Gradients of running sums and products.
#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The same scan from the other end.
Value ScanBack(G& g, const char* op, Value x) {
  return g.Op(op, {x, g.input(1)}, {{"exclusive", g.Attr<bool>("exclusive")}, {"reverse", !g.Attr<bool>("reverse")}});
}

// In the space of logarithms, positive and negative parts apart.
Gradients LogsumexpGradient(G& g) {
  Value x = g.input(0), dy = g.grad();
  const double lowest = x.dtype() == DType::kDouble ? -1.7976931348623157e308
                        : x.dtype() == DType::kHalf ? -65504.0
                                                    : -3.3895e38;
  auto part = [&](const char* comparison, Value flow) {
    Value mask = Binary(comparison, dy, Scalar(dy, 0));
    Value log = Select(mask, Unary("Log", flow), Scalar(dy, lowest));
    return Unary("Exp", ScanBack(g, "CumulativeLogsumexp", log - g.output(0)) + x);
  };
  return {part("Greater", dy) - part("Less", -dy)};
}

void AddAll(GradientRegistry& r) {
  r.Add("Cumsum", [](G& g) -> Gradients { return {ScanBack(g, "Cumsum", g.grad())}; });
  r.Add("Cumprod", [](G& g) -> Gradients {
    Value x = g.input(0);
    Value product = g.OpLike("Cumprod", {x, g.input(1)}, {"exclusive", "reverse"});
    return {Binary("DivNoNan", ScanBack(g, "Cumsum", product * g.grad()), x)};
  });
  r.Add("CumulativeLogsumexp", LogsumexpGradient);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterScanGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
