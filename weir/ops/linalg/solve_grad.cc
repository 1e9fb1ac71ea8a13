// Gradients of inverses, determinants and linear systems.
#include "weir/autodiff/emit.h"
#include "weir/ops/linalg/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Value Mul(Value a, Value b, bool adjoint_a = false, bool adjoint_b = false) {
  return BatchMatMul(a, b, adjoint_a, adjoint_b);
}
// A triangle of a matrix with its diagonal.
Value Triangle(Value x, bool lower) {
  if (!x) return {};
  Value all = Int(x, -1, DType::kInt64), none = Int(x, 0, DType::kInt64);
  return x.emitter().Op("MatrixBandPart", {x, lower ? all : none, lower ? none : all});
}
// Numbers of matrices as matrices of one element.
Value AsMatrices(Value x) { return ExpandDims(ExpandDims(x, -1), -1); }

Value Solve(Value a, Value b, bool adjoint) {
  return a && b ? a.emitter().Op("MatrixSolve", {a, b}, {{"adjoint", adjoint}}) : Value();
}
Value TriangularSolve(Value a, Value b, bool lower, bool adjoint) {
  return a && b ? a.emitter().Op("MatrixTriangularSolve", {a, b}, {{"lower", lower}, {"adjoint", adjoint}}) : Value();
}

// Sums over the outer dimensions in which an operand was broadcast.
Value SumBatches(Value gradient, Value operand, Value other) {
  const PartialShape mine = operand.shape(), theirs = other.shape();
  if (!gradient || (mine.rank() == 2 && theirs.rank() == 2)) return gradient;
  Value shape = Shape(operand);
  Values axes =
      gradient.emitter().Outputs("BroadcastGradientArgs", {SubVector(shape, 0, -2), SubVector(Shape(other), 0, -2)});
  return Reshape(Sum(gradient, axes[0]), shape);
}

Gradients InverseGradient(G& g) {
  Value y = g.output(0);
  const bool adjoint = g.Attr<bool>("adjoint");
  return {-Mul(y, Mul(g.grad(), y, adjoint, !adjoint), !adjoint)};
}

Gradients SolveGradient(G& g) {
  const bool adjoint = g.Attr<bool>("adjoint");
  Value x = g.output(0), of_b = Solve(g.input(0), g.grad(), !adjoint);
  return {adjoint ? -Mul(x, of_b, false, true) : -Mul(of_b, x, false, true), of_b};
}

Gradients TriangularSolveGradient(G& g) {
  const bool adjoint = g.Attr<bool>("adjoint"), lower = g.Attr<bool>("lower");
  Value a = g.input(0), b = g.input(1), x = g.output(0), of_b = TriangularSolve(a, g.grad(), lower, !adjoint);
  Value of_a = Triangle(adjoint ? -Mul(x, of_b, false, true) : -Mul(of_b, x, false, true), lower);
  return {SumBatches(of_a, a, b), SumBatches(of_b, b, a)};
}

// (A^H A + l I)^-1 b, or with A A^H, by Cholesky's factor.
struct RegularizedGramian {
  Value factor;
  RegularizedGramian(G& g, Value a, Value regularizer, bool first_kind) {
    Value gramian = Mul(a, a, first_kind, !first_kind);
    Value diagonal = Unary("MatrixDiagPart", gramian);
    Value l = Cast(regularizer, a.dtype());
    factor = Unary("Cholesky", Binary("MatrixSetDiag", gramian, diagonal + l));
  }
  Value Solve(Value b) const { return TriangularSolve(factor, TriangularSolve(factor, b, true, false), true, true); }
};

Gradients LeastSquaresGradient(G& g) {
  Value a = g.input(0), b = g.input(1), x = g.output(0), flow = g.grad();
  if (!g.Attr<bool>("fast")) {
    g.Fail(Unimplemented("The gradient of MatrixSolveLs is not defined where `fast` is false"));
    return {};
  }
  const PartialShape shape = a.shape();
  if (!shape.has_rank() || shape.rank() < 2 || shape.dim(shape.rank() - 1) < 0 || shape.dim(shape.rank() - 2) < 0) {
    g.Fail(Unimplemented("The gradient of MatrixSolveLs needs the size of its matrices"));
    return {};
  }
  if (shape.dim(shape.rank() - 2) >= shape.dim(shape.rank() - 1)) {
    RegularizedGramian gramian(g, a, g.input(2), true);
    Value z = gramian.Solve(flow), xz = Mul(x, z, false, true);
    return {Mul(b, z, false, true) - Mul(a, xz + Adjoint(xz)), Mul(a, z)};
  }
  RegularizedGramian gramian(g, a, g.input(2), false);
  Value of_b = gramian.Solve(Mul(a, flow)), y = gramian.Solve(b);
  Value first = -Mul(of_b, Mul(y, a, true)), second = Mul(y, flow - Mul(a, of_b, true), false, true);
  return {first + second, of_b};
}

// R dR + dR R = dA as one linear system: (I x R^T + R x I) vec(dR) = vec(dA).
Gradients SquareRootGradient(G& g) {
  Value root = g.output(0), shape = Shape(root), order = At(shape, -1);
  Value outer = SubVector(shape, 0, -2), one = Ints(root, {1});
  Value n = Reshape(order, one), squared = Reshape(order * order, one);
  Value eye = Unary("MatrixDiag", Fill(SubVector(shape, 0, -1), Scalar(root, 1)));
  auto kronecker = [&](Value a, Value b) {
    Value left = Reshape(a, Concat({outer, n, one, n, one}, 0)), right = Reshape(b, Concat({outer, one, n, one, n}, 0));
    return Reshape(left * right, Concat({outer, squared, squared}, 0));
  };
  Value sum = kronecker(eye, MatrixTranspose(root)) + kronecker(root, eye);
  Value vec = Reshape(MatrixTranspose(g.grad()), Concat({outer, squared, one}, 0));
  return {MatrixTranspose(Reshape(Solve(sum, vec, false), shape))};
}

void AddAll(GradientRegistry& r) {
  r.Add("MatrixInverse", InverseGradient);
  r.Add("MatrixDeterminant", [](G& g) -> Gradients {
    Value inverse = g.Op("MatrixInverse", {g.input(0)}, {{"adjoint", true}});
    return {AsMatrices(g.grad() * Conj(g.output(0))) * inverse};
  });
  r.Add("LogMatrixDeterminant", [](G& g) -> Gradients {
    return {AsMatrices(g.grad(1)) * g.Op("MatrixInverse", {g.input(0)}, {{"adjoint", true}})};
  });
  r.Add("MatrixSolve", SolveGradient);
  r.Add("MatrixTriangularSolve", TriangularSolveGradient);
  r.Add("MatrixSolveLs", LeastSquaresGradient);
  r.Add("MatrixSquareRoot", SquareRootGradient);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterSolveGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
