// Gradients of ops that pass their input on, perhaps in another shape.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Gradients PassOn(G& g) { return {g.raw_grad()}; }
Gradients ReshapeBack(G& g) { return {ReshapeLike(g.grad(), g.input(0))}; }

Gradients CheckNumericsGradient(G& g) {
  std::string message =
      Cat("Not a number (NaN) or infinity (Inf) values detected in gradient. ", g.Attr<std::string>("message"));
  return {g.Op(g.op(), {g.grad()}, {{"message", message}})};
}

Gradients TileGradient(G& g) {
  Value x = g.input(0), multiples = Cast(g.input(1), DType::kInt32);
  // (m0, d0, m1, d1, ...): every second dimension counts copies.
  Value split = Reshape(Pack({multiples, Shape(x)}, 1), Ints(x, {-1}));
  Value copies = Range(Int(x, 0), Size(split), 2);
  Value out = Sum(Reshape(g.grad(), split), copies);
  return {out};
}

void AddAll(GradientRegistry& r) {
  for (const char* op :
       {"Identity", "RefIdentity", "PlaceholderWithDefault", "EnsureShape", "DebugGradientIdentity",
        "DebugGradientRefIdentity", "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3"}) {
    r.Add(op, PassOn);
  }
  r.Add("IdentityN", [](G& g) -> Gradients {
    Gradients out;
    for (int i = 0; i < g.num_outputs(); ++i) out.push_back(g.raw_grad(i));
    return out;
  });
  r.Add("PreventGradient", [](G& g) -> Gradients {
    g.Fail(FailedPrecondition("Gradient explicitly disabled. Reason: ", g.Attr<std::string>("message")));
    return {};
  });
  r.Add("CheckNumerics", CheckNumericsGradient);
  r.Add("CheckNumericsV2", CheckNumericsGradient);
  for (const char* op : {"Reshape", "ExpandDims", "Squeeze"}) r.Add(op, ReshapeBack);
  r.Add("Fill", [](G& g) -> Gradients { return {{}, Sum(g.grad(), Range(Int(g.grad(), 0), Rank(g.grad())))}; });
  r.Add("BroadcastTo", [](G& g) -> Gradients { return {SumToShapeOf(g.grad(), g.input(0), g.output(0))}; });
  r.Add("Tile", TileGradient);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterIdentityGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
