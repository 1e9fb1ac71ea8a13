// Gradients of reading variables. The gradient of a handle is that of the variable it names.
#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// Only the rows that were read get something, so the gradient stays sparse.
Gradients GatherGradient(G& g) {
  Value handle = g.input(0), indices = g.input(1);
  Value shape = g.Op("VariableShape", {handle}, {{"out_type", DType::kInt32}});
  Value count = Reshape(Size(indices), Ints(indices, {1}));
  Value row = g.Op("Slice", {shape, Ints(indices, {1}), Ints(indices, {-1})});
  return {GradientValue::Sparse(Reshape(g.grad(), Concat({count, row}, 0)), Reshape(indices, count), shape)};
}

Gradients GatherNdGradient(G& g) {
  Value handle = g.input(0), indices = g.input(1);
  Value shape = g.Op("VariableShape", {handle}, {{"out_type", indices.dtype()}});
  const PartialShape known = indices.shape();
  if (known.rank() == 2 && known.dim(1) == 1) {
    return {GradientValue::Sparse(g.grad(), Squeeze(indices, {-1}), shape)};
  }
  return {g.Op("ScatterNd", {indices, g.grad(), shape})};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterStateGradients(GradientRegistry& r) {
  r.Add("ReadVariableOp", [](GradientContext& g) -> Gradients { return {g.raw_grad()}; });
  r.Add("ResourceGather", emit::GatherGradient);
  r.Add("ResourceGatherNd", emit::GatherNdGradient);
}

}  // namespace weir
