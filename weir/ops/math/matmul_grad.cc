// Gradients of matrix products.
#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The two products of z = op(a) op(b), for each way in which operands may be transposed. `product(a, b, ta, tb)`
// multiplies.
template <typename Product>
std::pair<Value, Value> ProductGradients(Value a, Value b, Value dz, bool ta, bool tb, Product product) {
  if (!ta && !tb) return {product(dz, b, false, true), product(a, dz, true, false)};
  if (!ta && tb) return {product(dz, b, false, false), product(dz, a, true, false)};
  if (ta && !tb) return {product(b, dz, false, true), product(a, dz, false, false)};
  return {product(b, dz, true, true), product(dz, a, true, true)};
}

Gradients MatMulGradient(G& g) {
  auto [da, db] = ProductGradients(Conj(g.input(0)), Conj(g.input(1)), g.grad(), g.Attr<bool>("transpose_a"),
                                   g.Attr<bool>("transpose_b"),
                                   [](Value a, Value b, bool ta, bool tb) { return MatMul(a, b, ta, tb); });
  return {da, db};
}

// Sparse operands are known by attribute only; the op is kept where a type other than float is in play.
Gradients SparseMatMulGradient(G& g) {
  Value a = g.input(0), b = g.input(1);
  auto [da, db] = ProductGradients(Cast(a, DType::kFloat), Cast(b, DType::kFloat), g.grad(),
                                   g.Attr<bool>("transpose_a"), g.Attr<bool>("transpose_b"),
                                   [](Value x, Value y, bool tx, bool ty) { return MatMul(x, y, tx, ty); });
  return {Cast(da, a.dtype()), Cast(db, b.dtype())};
}

Gradients BatchMatMulGradient(G& g) {
  auto [da, db] =
      ProductGradients(g.input(0), g.input(1), g.grad(), g.Attr<bool>("adj_x"), g.Attr<bool>("adj_y"),
                       [](Value a, Value b, bool ta, bool tb) {
                         return a ? a.emitter().Op("BatchMatMul", {a, b}, {{"adj_x", ta}, {"adj_y", tb}}) : Value();
                       });
  return {da, db};
}

// Sums a gradient over the outer dimensions in which an operand was broadcast.
Value SumBatches(Value gradient, Value operand, Value other) {
  const PartialShape mine = operand.shape(), theirs = other.shape();
  if (mine.rank() == 2 && theirs.rank() == 2) return gradient;
  if (mine.IsFullyDefined() && theirs.IsFullyDefined() && mine.rank() == theirs.rank()) {
    bool same = true;
    for (int i = 0; i < mine.rank() - 2; ++i) same &= mine.dim(i) == theirs.dim(i);
    if (same) return gradient;
  }
  if (!gradient) return {};
  Value shape = Shape(operand);
  Value outer = SubVector(shape, 0, -2), other_outer = SubVector(Shape(other), 0, -2);
  Values axes = gradient.emitter().Outputs("BroadcastGradientArgs", {outer, other_outer});
  return Reshape(Sum(gradient, axes[0]), shape);
}

Gradients BroadcastMatMulGradient(G& g) {
  Value x = g.input(0), y = g.input(1), dz = g.grad();
  auto [dx, dy] =
      ProductGradients(Cast(x, dz.dtype()), Cast(y, dz.dtype()), dz, g.Attr<bool>("adj_x"), g.Attr<bool>("adj_y"),
                       [](Value a, Value b, bool ta, bool tb) { return BatchMatMul(a, b, ta, tb); });
  return {Cast(SumBatches(dx, x, y), x.dtype()), Cast(SumBatches(dy, y, x), y.dtype())};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterMatMulGradients(GradientRegistry& r) {
  r.Add("MatMul", emit::MatMulGradient);
  r.Add("SparseMatMul", emit::SparseMatMulGradient);
  r.Add("BatchMatMul", emit::BatchMatMulGradient);
  r.Add("BatchMatMulV2", emit::BroadcastMatMulGradient);
  r.Add("BatchMatMulV3", emit::BroadcastMatMulGradient);
}

}  // namespace weir
