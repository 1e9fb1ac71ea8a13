// Gradients of decompositions.
#include "weir/autodiff/emit.h"
#include "weir/ops/linalg/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Value Mul(Value a, Value b, bool adjoint_a = false, bool adjoint_b = false) {
  return BatchMatMul(a, b, adjoint_a, adjoint_b);
}
Value Diag(Value x) { return Unary("MatrixDiag", x); }
Value DiagPart(Value x) { return Unary("MatrixDiagPart", x); }
Value SetDiag(Value x, Value diagonal) { return Binary("MatrixSetDiag", x, diagonal); }
Value LowerTriangle(Value x) {
  if (!x) return {};
  return x.emitter().Op("MatrixBandPart", {x, Int(x, -1, DType::kInt64), Int(x, 0, DType::kInt64)});
}
Value SafeReciprocal(Value x) { return x * Unary("Reciprocal", x * x + 1e-20); }
Value RealPart(Value x) {
  if (!x || !IsComplex(x.dtype())) return x;
  DType real = x.dtype() == DType::kComplex128 ? DType::kDouble : DType::kFloat;
  return Cast(x.emitter().Op("Real", {x}, {{"Tout", real}}), x.dtype());
}
// 1 / (e_j - e_i), and zero on the diagonal.
Value Gaps(Value e) { return SetDiag(SafeReciprocal(ExpandDims(e, -2) - ExpandDims(e, -1)), ZerosLike(e)); }

// Columns [begin, end) of matrices.
Value Columns(Value x, int64_t begin, int64_t end) {
  if (!x) return {};
  return x.emitter().Op("StridedSlice", {x, Ints(x, {0, begin}), Ints(x, {0, end}), Ints(x, {1, 1})},
                        {{"ellipsis_mask", 1}});
}

struct MatrixSize {
  int64_t rows = -1;
  int64_t columns = -1;
};
MatrixSize SizeOf(Value x) {
  const PartialShape shape = x.shape();
  if (!shape.has_rank() || shape.rank() < 2) return {};
  return {shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1)};
}

Gradients CholeskyGradient(G& g) {
  Value l = g.output(0);
  Value eye = Diag(Fill(SubVector(Shape(l), 0, -1), Scalar(l, 1)));
  Value inverse = g.Op("MatrixTriangularSolve", {l, eye});
  Value middle = Mul(l, g.grad(), true);
  middle = LowerTriangle(SetDiag(middle, 0.5 * DiagPart(middle)));
  Value of_a = Mul(Mul(inverse, middle, true), inverse);
  return {0.5 * (of_a + Adjoint(of_a))};
}

// x R^-H.
Value SolveFromRight(Value x, Value r) {
  if (!x || !r) return {};
  return Adjoint(r.emitter().Op("MatrixTriangularSolve", {r, Adjoint(x)}, {{"lower", false}, {"adjoint", false}}));
}

Value DeepQrGradient(Value q, Value r, Value dq, Value dr) {
  Value qdq = Mul(q, dq, true), rdr = Mul(r, dr, false, true);
  Value lower = LowerTriangle((qdq - Adjoint(qdq)) + (rdr - Adjoint(rdr)));
  Value out = Mul(q, dr + SolveFromRight(lower, r)) + SolveFromRight(dq - Mul(q, qdq), r);
  if (!IsComplex(q.dtype())) return out;
  Value m = rdr - Adjoint(qdq);
  Value diagonal = SetDiag(ZerosLike(m), DiagPart(m));
  return out + SolveFromRight(Mul(q, Adjoint(diagonal - RealPart(diagonal))), r);
}

Gradients QrGradient(G& g) {
  Value q = g.output(0), r = g.output(1), dq = g.grad(0), dr = g.grad(1);
  const auto [rows, columns] = SizeOf(g.input(0));
  if (rows < 0 || columns < 0) {
    g.Fail(Unimplemented("The gradient of Qr needs the size of its matrices"));
    return {};
  }
  if (rows > columns && g.Attr<bool>("full_matrices")) {
    g.Fail(Unimplemented("The gradient of Qr is not defined for full matrices with more rows than columns"));
    return {};
  }
  if (rows >= columns) return {DeepQrGradient(q, r, dq, dr)};
  // A wide matrix: its first square part is decomposed, the rest follows from Q.
  Value rest = Columns(g.input(0), rows, columns), dv = Columns(dr, rows, columns);
  Value square = DeepQrGradient(q, Columns(r, 0, rows), dq + Mul(rest, dv, false, true), Columns(dr, 0, rows));
  return {Concat({square, Mul(q, dv)}, -1)};
}

Gradients EigGradient(G& g) {
  Value e = g.output(0), of_e = g.grad(0), x = g.input(0), out;
  if (g.Attr<bool>("compute_v")) {
    Value v = g.output(1), vt = Adjoint(v), projected = Mul(vt, g.grad(1));
    Value middle = Diag(of_e) + Conj(Gaps(e)) * (projected - Mul(Mul(vt, v), Diag(DiagPart(RealPart(projected)))));
    out = g.Op("MatrixSolve", {vt, Mul(middle, vt)});
  } else {
    Value v = g.OutputsLike("Eig", {x}, {"Tout"}, {{"compute_v", true}})[1], vt = Adjoint(v);
    out = g.Op("MatrixSolve", {vt, Mul(Diag(of_e), vt)});
  }
  return {Cast(out, x.dtype())};
}

// Only the lower triangle of the input is read.
Gradients SelfAdjointEigGradient(G& g) {
  Value e = g.output(0), v, middle = Diag(Cast(g.grad(0), g.input(0).dtype()));
  if (g.Attr<bool>("compute_v")) {
    v = g.output(1);
    middle = middle + Gaps(Cast(e, v.dtype())) * Mul(v, g.grad(1), true);
  } else {
    v = g.Outputs("SelfAdjointEigV2", {g.input(0)}, {{"compute_v", true}})[1];
  }
  Value out = Mul(v, Mul(middle, v, false, true));
  out = LowerTriangle(out + Adjoint(out));
  return {SetDiag(out, 0.5 * DiagPart(out))};
}

Gradients SvdGradient(G& g) {
  Value a = g.input(0), of_s = Diag(Cast(g.grad(0), a.dtype()));
  if (!g.Attr<bool>("compute_uv")) {
    Values svd = g.Outputs("Svd", {a}, {{"compute_uv", true}});
    return {Mul(svd[1], Mul(of_s, svd[2], false, true))};
  }
  auto [m, n] = SizeOf(a);
  const bool full = g.Attr<bool>("full_matrices");
  if (m < 0 || n < 0 || (full && std::abs(m - n) > 1)) {
    g.Fail(Unimplemented("The gradient of Svd is not defined for matrices of ", m, " x ", n,
                         full ? " with full matrices" : ""));
    return {};
  }
  Value s = Cast(g.output(0), a.dtype()), u = g.output(1), v = g.output(2), du = g.grad(1), dv = g.grad(2);
  const bool tall = m > n;
  if (tall) {
    std::swap(m, n);
    std::swap(u, v);
    std::swap(du, dv);
  }
  Value s_matrix = Diag(s), gaps = Gaps(Unary("Square", s)), inverse_s = Diag(SafeReciprocal(s));
  Value v1 = full && n > m ? Columns(v, 0, m) : v, dv1 = full && n > m ? Columns(dv, 0, m) : dv;
  Value udu = Mul(u, du, true), vdv = Mul(v1, dv1, true);
  Value fu = gaps * udu, fv = gaps * vdv;
  Value inner = of_s + Mul(fu + Adjoint(fu), s_matrix) + Mul(s_matrix, fv + Adjoint(fv));
  Value out = Mul(u, Mul(inner, v1, false, true));
  if (m != n) {
    Value dv1t = Adjoint(dv1);
    Value outside = dv1t - Mul(Mul(dv1t, v1), v1, false, true);
    if (full) outside = outside - Mul(Mul(v1, Columns(dv, m, n), true), Columns(v, m, n), false, true);
    out = out + Mul(Mul(u, inverse_s), outside);
  }
  if (IsComplex(a.dtype())) {
    Value l = Diag(DiagPart(vdv));
    out = out + 0.5 * Mul(u, Mul(Mul(inverse_s, Adjoint(l) - l), v1, false, true));
  }
  return {tall ? Adjoint(out) : out};
}

void AddAll(GradientRegistry& r) {
  r.Add("Cholesky", CholeskyGradient);
  r.Add("Qr", QrGradient);
  r.Add("Eig", EigGradient);
  r.Add("SelfAdjointEigV2", SelfAdjointEigGradient);
  r.Add("Svd", SvdGradient);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterDecompositionGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
