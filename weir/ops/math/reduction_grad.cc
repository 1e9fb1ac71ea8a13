// Gradients of reductions.
#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// Constant axes in [0, rank), or nothing.
std::optional<std::vector<int64_t>> KnownAxes(Value axes, int rank) {
  Tensor value = axes.constant();
  if (!value.has_value() || rank < 0) return std::nullopt;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    int64_t axis = value.dtype() == DType::kInt64 ? value.data<int64_t>()[i] : value.data<int32_t>()[i];
    if (axis < -rank || axis >= rank) return std::nullopt;
    out.push_back(axis < 0 ? axis + rank : axis);
  }
  return out;
}

// The axes as non-negative int32.
Value PositiveAxes(Value x, Value axes) {
  Value rank = Rank(x);
  return Binary("FloorMod", Cast(axes, DType::kInt32) + rank, rank);
}

// The shape of the reduction's input with ones where it was reduced.
Value KeptShape(Value x, Value axes) {
  const PartialShape shape = x.shape();
  if (auto known = KnownAxes(axes, shape.rank()); known && shape.IsFullyDefined()) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    for (int64_t axis : *known) dims[axis] = 1;
    return Ints(x, dims);
  }
  Value positive = Reshape(PositiveAxes(x, axes), Ints(x, {-1}));
  Value ones = Fill(Shape(positive), Int(x, 1));
  std::vector<Value> indices = {Range(Int(x, 0), Rank(x)), positive};
  std::vector<Value> values = {Shape(x), ones};
  return x.emitter().Op("DynamicStitch", {indices, values});
}

// A tensor of the reduced shape as one that broadcasts against the input.
Value Keep(G& g, Value reduced) {
  if (g.Attr<bool>("keep_dims")) return reduced;
  return Reshape(reduced, KeptShape(g.input(0), g.input(1)));
}

Value SumGradient(G& g) { return BroadcastTo(Keep(g, g.grad()), Shape(g.input(0))); }

Gradients MeanGradient(G& g) {
  Value x = g.input(0), y = g.output(0), spread = SumGradient(g);
  const int64_t in = x.shape().num_elements(), out = y.shape().num_elements();
  if (in >= 0 && out >= 0) return {spread / static_cast<double>(std::max<int64_t>(1, in / std::max<int64_t>(1, out)))};
  Value count = Binary("FloorDiv", Size(x), Binary("Maximum", Size(y), Int(x, 1)));
  return {spread / Cast(Binary("Maximum", count, Int(x, 1)), x.dtype())};
}

// It is shared among all elements that are equal to the extreme.
Gradients ExtremeGradient(G& g) {
  Value x = g.input(0);
  Value extreme = Keep(g, g.output(0)), flow = Keep(g, g.grad());
  Value hit = Cast(Binary("Equal", extreme, x), x.dtype());
  Value count = Sum(hit, g.input(1), /*keep_dims=*/true);
  return {hit / count * flow};
}

// Each element gets the product of all others: those before it times those after it, which holds at zeros too.
Gradients ProdGradient(G& g) {
  Value x = g.input(0);
  if (x.shape().rank() == 0) return {g.grad()};
  Value spread = BroadcastTo(Keep(g, g.grad()), Shape(x));
  // The reduced dimensions first, as one.
  Value reduced = Reshape(PositiveAxes(x, g.input(1)), Ints(x, {-1}));
  Value others = g.Outputs("ListDiff", {Range(Int(x, 0), Rank(x)), reduced})[0];
  Value permutation = Concat({reduced, others}, 0);
  Value shape = Shape(x);
  Value rows = Prod(Gather(shape, reduced), Ints(x, {0})), columns = Prod(Gather(shape, others), Ints(x, {0}));
  Value permuted = Transpose(x, permutation);
  Value matrix = Reshape(permuted, Pack({rows, columns}));
  Value axis = Int(x, 0);
  Value before = g.Op("Cumprod", {matrix, axis}, {{"exclusive", true}});
  Value after = g.Op("Cumprod", {matrix, axis}, {{"exclusive", true}, {"reverse", true}});
  Value product = Reshape(Conj(before) * Conj(after), Shape(permuted));
  return {Reshape(spread * Transpose(product, InvertPermutation(permutation)), shape)};
}

void AddAll(GradientRegistry& r) {
  r.Add("Sum", [](G& g) -> Gradients { return {SumGradient(g)}; });
  r.Add("Mean", MeanGradient);
  r.Add("Max", ExtremeGradient);
  r.Add("Min", ExtremeGradient);
  r.Add("Prod", ProdGradient);
  r.Add("EuclideanNorm", [](G& g) -> Gradients { return {g.input(0) / (Keep(g, g.output(0)) / Keep(g, g.grad()))}; });
  for (const char* op : {"ArgMax", "ArgMin"}) {
    r.Add(op, [](G&) -> Gradients { return {}; });
  }
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterReductionGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
