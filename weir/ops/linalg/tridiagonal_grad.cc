// Gradients of tridiagonal systems. Diagonals are kept as rows: the one above, the main one, the one below.
#include "weir/autodiff/emit.h"
#include "weir/ops/linalg/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// Rows of matrices moved up (+1) or down (-1) by one; a row of zeros comes in.
Value ShiftRows(Value x, int by) {
  if (!x) return {};
  Value begin = Ints(x, {0, by > 0 ? 1 : 0, 0}), end = Ints(x, {0, by > 0 ? 0 : -1, 0}), step = Ints(x, {1, 1, 1});
  const int rows = 1 << 1, columns = 1 << 2;
  Value cut =
      x.emitter().Op("StridedSlice", {x, begin, end, step},
                     {{"ellipsis_mask", 1}, {"begin_mask", columns}, {"end_mask", by > 0 ? rows | columns : columns}});
  Value zeros = ZerosLike(x.emitter().Op("StridedSlice", {x, Ints(x, {0, 0, 0}), Ints(x, {0, 1, 0}), step},
                                         {{"ellipsis_mask", 1}, {"begin_mask", columns}, {"end_mask", columns}}));
  Value axis = Int(x, -2);
  std::vector<Value> parts = by > 0 ? std::vector<Value>{cut, zeros} : std::vector<Value>{zeros, cut};
  return x.emitter().Op("ConcatV2", {parts, axis});
}

Gradients MatMulGradient(G& g) {
  Value above = Adjoint(g.input(0)), main = Adjoint(g.input(1)), below = Adjoint(g.input(2));
  Value right = Conj(g.input(3)), flow = g.grad();
  auto row = [&](Value x) { return ExpandDims(Sum(x * flow, {-1}), -2); };
  return {row(ShiftRows(right, 1)), row(right), row(ShiftRows(right, -1)),
          ShiftRows(above * flow, -1) + main * flow + ShiftRows(below * flow, 1)};
}

// The diagonals of the transposed matrix.
Value TransposeDiagonals(Value x) {
  if (!x) return {};
  Values rows = x.emitter().Outputs("Unpack", {x}, {{"num", 3}, {"axis", -2}});
  auto shift = [](Value row, int by) { return Squeeze(ShiftRows(ExpandDims(row, -1), by), {-1}); };
  return x.emitter().Op("Pack", {std::vector<Value>{shift(rows[2], 1), rows[1], shift(rows[0], -1)}}, {{"axis", -2}});
}

Gradients SolveGradient(G& g) {
  Value x = g.output(0);
  Value of_right = g.OpLike("TridiagonalSolve", {TransposeDiagonals(g.input(0)), g.grad()},
                            {"partial_pivoting", "perturb_singular"});
  auto row = [&](Value y) { return -Sum(of_right * y, {-1}); };
  std::vector<Value> rows = {row(ShiftRows(x, 1)), row(x), row(ShiftRows(x, -1))};
  return {g.Op("Pack", {rows}, {{"axis", -2}}), of_right};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterTridiagonalGradients(GradientRegistry& registry) {
  registry.Add("TridiagonalMatMul", emit::MatMulGradient);
  registry.Add("TridiagonalSolve", emit::SolveGradient);
}

}  // namespace weir
