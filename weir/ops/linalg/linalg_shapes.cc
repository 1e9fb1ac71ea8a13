// Shapes of linear algebra: the last two dimensions are matrices.
#include <algorithm>

#include "weir/framework/op_registry.h"
#include "weir/ops/einsum_equation.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

// A shape of rank 2 or more as outer dimensions, rows and columns.
struct Matrices {
  PartialShape outer;
  int64_t rows = kUnknown, columns = kUnknown;

  PartialShape With(std::initializer_list<int64_t> dims) const { return ConcatShapes(outer, PartialShape(dims)); }
};

StatusOr<Matrices> MatricesOf(const ShapeContext& ctx, int input) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.WithRankAtLeast(input, 2));
  if (!shape.has_rank()) return Matrices{};
  const int r = shape.rank();
  return Matrices{SubShape(shape, 0, r - 2), shape.dim(r - 2), shape.dim(r - 1)};
}

StatusOr<Matrices> SquareMatricesOf(const ShapeContext& ctx, int input) {
  WEIR_ASSIGN_OR_RETURN(Matrices m, MatricesOf(ctx, input));
  WEIR_ASSIGN_OR_RETURN(m.rows, MergeDims(m.rows, m.columns));
  m.columns = m.rows;
  return m;
}

Status Square(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices m, SquareMatricesOf(ctx, 0));
  ctx.set_output(0, m.With({m.rows, m.rows}));
  return OkStatus();
}

Status Determinant(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices m, SquareMatricesOf(ctx, 0));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, m.outer);
  return OkStatus();
}

Status Lu(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices m, SquareMatricesOf(ctx, 0));
  ctx.set_output(0, m.With({m.rows, m.rows}));
  ctx.set_output(1, m.With({m.rows}));
  return OkStatus();
}

Status Qr(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices m, MatricesOf(ctx, 0));
  WEIR_ASSIGN_OR_RETURN(bool full, ctx.Attr<bool>("full_matrices"));
  const int64_t least = m.rows < 0 || m.columns < 0 ? kUnknown : std::min(m.rows, m.columns);
  const int64_t k = full ? m.rows : least;
  ctx.set_output(0, m.With({m.rows, k}));
  ctx.set_output(1, m.With({k, m.columns}));
  return OkStatus();
}

Status Svd(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices m, MatricesOf(ctx, 0));
  WEIR_ASSIGN_OR_RETURN(bool full, ctx.Attr<bool>("full_matrices"));
  WEIR_ASSIGN_OR_RETURN(bool vectors, ctx.Attr<bool>("compute_uv"));
  const int64_t least = m.rows < 0 || m.columns < 0 ? kUnknown : std::min(m.rows, m.columns);
  ctx.set_output(0, m.With({least}));
  if (!vectors) return OkStatus();
  ctx.set_output(1, m.With({m.rows, full ? m.rows : least}));
  ctx.set_output(2, m.With({m.columns, full ? m.columns : least}));
  return OkStatus();
}

Status Eigenvalues(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices m, SquareMatricesOf(ctx, 0));
  WEIR_ASSIGN_OR_RETURN(bool vectors, ctx.Attr<bool>("compute_v"));
  ctx.set_output(0, m.With({m.rows}));
  if (vectors) ctx.set_output(1, m.With({m.rows, m.rows}));
  return OkStatus();
}

Status SolveMatrices(ShapeContext& ctx, bool square) {
  WEIR_ASSIGN_OR_RETURN(Matrices a, square ? SquareMatricesOf(ctx, 0) : MatricesOf(ctx, 0));
  WEIR_ASSIGN_OR_RETURN(Matrices b, MatricesOf(ctx, 1));
  WEIR_ASSIGN_OR_RETURN(a.outer, UnifyShapes(a.outer, b.outer));
  WEIR_ASSIGN_OR_RETURN(int64_t rows, MergeDims(a.rows, b.rows));
  ctx.set_output(0, a.With({square ? rows : a.columns, b.columns}));
  return OkStatus();
}
Status Solve(ShapeContext& ctx) { return SolveMatrices(ctx, true); }
Status LeastSquares(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(2, 0).status());
  return SolveMatrices(ctx, false);
}

// The outer dimensions broadcast.
Status TriangularSolve(ShapeContext& ctx) {
  const bool banded = ctx.schema().name == "BandedTriangularSolve";
  WEIR_ASSIGN_OR_RETURN(Matrices a, banded ? MatricesOf(ctx, 0) : SquareMatricesOf(ctx, 0));
  WEIR_ASSIGN_OR_RETURN(Matrices b, MatricesOf(ctx, 1));
  WEIR_ASSIGN_OR_RETURN(int64_t rows, MergeDims(a.columns, b.rows));
  if (!a.outer.has_rank() || !b.outer.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(a.outer, BroadcastShapes(a.outer, b.outer));
  ctx.set_output(0, a.With({rows, b.columns}));
  return OkStatus();
}

Status TridiagonalSolve(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices diagonals, MatricesOf(ctx, 0));
  WEIR_ASSIGN_OR_RETURN(Matrices b, MatricesOf(ctx, 1));
  WEIR_RETURN_IF_ERROR(MergeDims(diagonals.rows, 3).status());
  WEIR_ASSIGN_OR_RETURN(b.outer, UnifyShapes(diagonals.outer, b.outer));
  WEIR_ASSIGN_OR_RETURN(b.rows, MergeDims(diagonals.columns, b.rows));
  ctx.set_output(0, b.With({b.rows, b.columns}));
  return OkStatus();
}

Status TridiagonalMatMul(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(Matrices b, MatricesOf(ctx, 3));
  for (int i = 0; i < 3; ++i) {
    WEIR_ASSIGN_OR_RETURN(Matrices diagonal, MatricesOf(ctx, i));
    WEIR_RETURN_IF_ERROR(MergeDims(diagonal.rows, 1).status());
    WEIR_ASSIGN_OR_RETURN(b.outer, UnifyShapes(diagonal.outer, b.outer));
    WEIR_ASSIGN_OR_RETURN(b.rows, MergeDims(diagonal.columns, b.rows));
  }
  ctx.set_output(0, b.With({b.rows, b.columns}));
  return OkStatus();
}

struct LabelDim {
  int label;
  int64_t size;
};

// Takes a further axis of a label in: letters must agree, broadcasting axes broadcast.
Status AddLabel(std::vector<LabelDim>& dims, int label, int64_t size) {
  auto known = std::ranges::find(dims, label, &LabelDim::label);
  if (known == dims.end()) {
    dims.push_back({label, size});
    return OkStatus();
  }
  if (label < 0 && (known->size == 1 || size == 1)) {
    if (known->size == 1) known->size = size;
    return OkStatus();
  }
  if (label < 0 && (known->size < 0 || size < 0)) {
    known->size = std::max(known->size, size);  // one is known: the other is that or 1
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(known->size, MergeDims(known->size, size));
  return OkStatus();
}

Status Einsum(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::string text, ctx.Attr<std::string>("equation"));
  WEIR_ASSIGN_OR_RETURN(EinsumEquation equation, EinsumEquation::Parse(text));
  if (equation.num_inputs() != ctx.num_inputs()) {
    return InvalidArgument("Expected ", equation.num_inputs(), " inputs but got: ", ctx.num_inputs());
  }
  std::vector<LabelDim> dims;
  int broadcast_rank = 0;
  bool all_known = true;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const PartialShape& in = ctx.input(i);
    if (!in.has_rank()) {
      all_known = false;
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(EinsumLabels labels, equation.InputLabels(i, in.rank()));
    broadcast_rank = std::max(broadcast_rank, equation.BroadcastRank(i, in.rank()));
    for (int k = 0; k < in.rank(); ++k) WEIR_RETURN_IF_ERROR(AddLabel(dims, labels[k], in.dim(k)));
  }
  if (!all_known) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(EinsumLabels output, equation.OutputLabels(broadcast_rank));
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int label : output) {
    auto known = std::ranges::find(dims, label, &LabelDim::label);
    out.add_dim(known == dims.end() ? 1 : known->size);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

}  // namespace

void RegisterLinalgShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("square_matrix", Square);
  registry.RegisterShapeFunction("determinant", Determinant);
  registry.RegisterShapeFunction("lu", Lu);
  registry.RegisterShapeFunction("qr", Qr);
  registry.RegisterShapeFunction("svd", Svd);
  registry.RegisterShapeFunction("eigenvalues", Eigenvalues);
  registry.RegisterShapeFunction("matrix_solve", Solve);
  registry.RegisterShapeFunction("matrix_solve_ls", LeastSquares);
  registry.RegisterShapeFunction("triangular_solve", TriangularSolve);
  registry.RegisterShapeFunction("tridiagonal_solve", TridiagonalSolve);
  registry.RegisterShapeFunction("tridiagonal_matmul", TridiagonalMatMul);
  registry.RegisterShapeFunction("einsum", Einsum);
}

}  // namespace weir
