// Gradients of scattering into a tensor.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Value Updates(G& g, int indices) { return Binary("GatherNd", g.grad(), g.input(indices)); }

// It is shared among all that are equal to the result.
Gradients ExtremeGradient(G& g) {
  Value x = g.input(0), indices = g.input(1), updates = g.input(2), z = g.output(0), flow = g.grad();
  Value x_hit = Cast(Binary("Equal", x, z), flow.dtype());
  Value update_hit = Cast(Binary("Equal", updates, Binary("GatherNd", z, indices)), flow.dtype());
  Value hits = x_hit + g.Op("ScatterNd", {indices, update_hit, Shape(x, indices.dtype())});
  Value share = flow / hits;
  return {share * x_hit, {}, Binary("GatherNd", share, indices) * update_hit};
}

void AddAll(GradientRegistry& r) {
  r.Add("ScatterNd", [](G& g) -> Gradients { return {{}, Updates(g, 0)}; });
  for (const char* op : {"ScatterNdNonAliasingAdd", "TensorScatterAdd"}) {
    r.Add(op, [](G& g) -> Gradients { return {g.grad(), {}, Updates(g, 1)}; });
  }
  r.Add("TensorScatterSub", [](G& g) -> Gradients { return {g.grad(), {}, -Updates(g, 1)}; });
  r.Add("TensorScatterUpdate", [](G& g) -> Gradients {
    return {g.Op("TensorScatterUpdate", {g.grad(), g.input(1), ZerosLike(g.input(2))}), {}, Updates(g, 1)};
  });
  r.Add("TensorScatterMax", ExtremeGradient);
  r.Add("TensorScatterMin", ExtremeGradient);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterScatterGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
