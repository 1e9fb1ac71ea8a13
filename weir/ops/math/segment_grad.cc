// Gradients of reductions over segments.
#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Value SegmentSum(G& g, Value x, bool sorted) {
  return sorted ? g.Op("SegmentSum", {x, g.input(1)}) : g.Op("UnsortedSegmentSum", {x, g.input(1), g.input(2)});
}

// Ones of rank `rank` after those of a mask of the indices, so that it broadcasts against rows.
Value AlignWithRows(Value mask, Value rows) {
  if (mask.shape().has_rank() && rows.shape().has_rank()) {
    for (int i = mask.rank(), n = rows.rank(); i < n; ++i) mask = ExpandDims(mask, -1);
    return mask;
  }
  Value ones = Fill(ExpandDims(Rank(rows) - Rank(mask), 0), Int(mask, 1));
  return Reshape(mask, Concat({Shape(mask), ones}, 0));
}

struct Rows {
  Value values;    // zero where the index is negative
  Value positive;  // whether it is not, in the shape of the values
};

// Rows of a tensor by segment; a negative index names no segment.
Rows GatherKnown(Value x, Value indices) {
  Value zero = ZerosLike(indices);
  Value gathered = Gather(x, Binary("Maximum", indices, zero));
  Value positive = AlignWithRows(Binary("GreaterEqual", indices, zero), gathered);
  positive = Binary("LogicalAnd", positive, Fill(Shape(gathered), Scalar(positive, DType::kBool, 1)));
  return {Select(positive, gathered, ZerosLike(gathered)), positive};
}
Value GatherBack(G& g, Value x, bool sorted) {
  return sorted ? Gather(x, g.input(1)) : GatherKnown(x, g.input(1)).values;
}

// It is shared among all elements of a segment that are equal to the extreme.
Gradients ExtremeGradient(G& g, bool sorted) {
  Value x = g.input(0);
  Value hit = Binary("Equal", x, GatherBack(g, g.output(0), sorted));
  if (!sorted) hit = Binary("LogicalAnd", hit, GatherKnown(g.output(0), g.input(1)).positive);
  Value count = SegmentSum(g, Cast(hit, x.dtype()), sorted);
  Value flow = GatherBack(g, g.grad() / count, sorted);
  return {Select(hit, flow, ZerosLike(flow))};
}

// Elements get the product of the others of their segment, which at one zero is that of all others.
Gradients ProductGradient(G& g, bool sorted) {
  Value x = g.input(0), ids = g.input(1);
  Value is_zero = Binary("Equal", x, Scalar(x, 0));
  Value zeros = SegmentSum(g, Cast(is_zero, DType::kInt32), sorted);
  Value flow = Select(Binary("Greater", zeros, Int(x, 1)), ZerosLike(g.grad()), g.grad());
  Value others = Select(is_zero, OnesLike(x), x);
  Value product = sorted ? g.Op("SegmentProd", {others, ids}) : g.Op("UnsortedSegmentProd", {others, ids, g.input(2)});
  Value partial = Select(is_zero, GatherBack(g, product, sorted), GatherBack(g, g.output(0), sorted) / others);
  return {GatherBack(g, flow, sorted) * partial};
}

Gradients MeanGradient(G& g) {
  Value x = g.input(0), ids = g.input(1);
  Value ones = Fill(Concat({Shape(ids), Fill(ExpandDims(Rank(x) - Int(x, 1), 0), Int(x, 1))}, 0), Scalar(x, 1));
  return {Gather(g.grad() / g.Op("SegmentSum", {ones, ids}), ids)};
}

// Sums of chosen rows; `op` is the gradient op.
GradientFunction SparseSegment(const char* op) {
  return [op](G& g) -> Gradients {
    Value rows = At(Shape(g.input(0)), 0);
    return {g.Op(op, {g.grad(), g.input(1), g.input(2), rows})};
  };
}

void AddAll(GradientRegistry& r) {
  r.Add("SegmentSum", [](G& g) -> Gradients { return {Gather(g.grad(), g.input(1))}; });
  r.Add("SegmentMean", MeanGradient);
  r.Add("UnsortedSegmentSum", [](G& g) -> Gradients { return {GatherKnown(g.grad(), g.input(1)).values}; });
  for (const char* op : {"SegmentMax", "SegmentMin"}) {
    r.Add(op, [](G& g) { return ExtremeGradient(g, true); });
  }
  for (const char* op : {"UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    r.Add(op, [](G& g) { return ExtremeGradient(g, false); });
  }
  r.Add("SegmentProd", [](G& g) { return ProductGradient(g, true); });
  r.Add("UnsortedSegmentProd", [](G& g) { return ProductGradient(g, false); });
  for (const char* suffix : {"", "WithNumSegments"}) {
    r.Add(Cat("SparseSegmentSum", suffix), SparseSegment("SparseSegmentSumGrad"));
    r.Add(Cat("SparseSegmentMean", suffix), SparseSegment("SparseSegmentMeanGrad"));
    r.Add(Cat("SparseSegmentSqrtN", suffix), SparseSegment("SparseSegmentSqrtNGrad"));
  }
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterSegmentGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
