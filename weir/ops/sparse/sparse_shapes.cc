// Shapes of the sparse ops.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

int64_t Dim(const PartialShape& shape, int d) { return d < shape.rank() ? shape.dim(d) : kUnknown; }

Status SparseToDense(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(1));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status SparseReorder(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape indices, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape values, ctx.WithRank(1, 1));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  return OkStatus();
}

Status SparseReshape(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape indices, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape target, ctx.WithRank(2, 1));
  ctx.set_output(0, PartialShape{Dim(indices, 0), Dim(target, 0)});
  ctx.set_output(1, std::move(target));
  return OkStatus();
}

// Any number of elements, of the rank that the indices in input 0 have.
Status SparseTriple(ShapeContext& ctx) {
  const int64_t rank = Dim(ctx.input(0), 1);
  ctx.set_output(0, PartialShape{kUnknown, rank});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{rank});
  return OkStatus();
}

Status SparseDenseCwise(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{Dim(ctx.input(0), 0)});
  return OkStatus();
}

Status SparseTensorDenseMatMul(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape b, ctx.WithRank(3, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape a, ctx.InputAsShape(2));
  const bool adjoint_a = ctx.Attr<bool>("adjoint_a").value_or(false),
             adjoint_b = ctx.Attr<bool>("adjoint_b").value_or(false);
  ctx.set_output(0, PartialShape{Dim(a, adjoint_a ? 1 : 0), Dim(b, adjoint_b ? 0 : 1)});
  return OkStatus();
}

// The data with another first dimension.
Status SparseSegment(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape data, ctx.WithRankAtLeast(0, 1));
  if (!data.has_rank()) return OkStatus();
  data.set_dim(0, ctx.num_inputs() == 4 ? ctx.InputAsInt(3).value_or(kUnknown) : kUnknown);
  if (data.dim(0) < kUnknown) return InvalidArgument("The number of rows must not be negative, got ", data.dim(0));
  ctx.set_output(0, std::move(data));
  return OkStatus();
}

Status SparseFillEmptyRows(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape indices, ctx.WithRank(0, 2));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(3, 0).status());
  WEIR_ASSIGN_OR_RETURN(PartialShape dense, ctx.InputAsShape(2));
  ctx.set_output(0, PartialShape{kUnknown, Dim(indices, 1)});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{Dim(dense, 0)});
  ctx.set_output(3, PartialShape{Dim(indices, 0)});
  return OkStatus();
}

}  // namespace

void RegisterSparseShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("sparse_to_dense", SparseToDense);
  registry.RegisterShapeFunction("sparse_reorder", SparseReorder);
  registry.RegisterShapeFunction("sparse_reshape", SparseReshape);
  registry.RegisterShapeFunction("sparse_triple", SparseTriple);
  registry.RegisterShapeFunction("sparse_dense_cwise", SparseDenseCwise);
  registry.RegisterShapeFunction("sparse_tensor_dense_matmul", SparseTensorDenseMatMul);
  registry.RegisterShapeFunction("sparse_segment", SparseSegment);
  registry.RegisterShapeFunction("sparse_fill_empty_rows", SparseFillEmptyRows);
}

}  // namespace weir
