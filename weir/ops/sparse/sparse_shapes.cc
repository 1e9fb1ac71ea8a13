// Shapes of the sparse ops.
#include <algorithm>

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

Status RaggedFillEmptyRows(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape rowids, ctx.WithRank(0, 1));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(2, 0).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(3, 0).status());
  for (int i = 0; i < 3; ++i) ctx.set_output(i, PartialShape{kUnknown});
  ctx.set_output(3, rowids);
  return OkStatus();
}

Status RaggedCross(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown});
  ctx.set_output(1, PartialShape{kUnknown});
  return OkStatus();
}

// A sparse result with one dimension fewer than the rank, plus the members.
Status Sets(ShapeContext& ctx) {
  // Of the dense input its rank, of a sparse one the columns of its indices.
  const bool sparse = ctx.schema().name == "SparseToSparseSetOperation";
  const int64_t rank = sparse ? Dim(ctx.input(0), 1) : ctx.input(0).has_rank() ? ctx.input(0).rank() : kUnknown;
  ctx.set_output(0, PartialShape{kUnknown, rank});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{rank});
  return OkStatus();
}

Status SetSize(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  if (shape.has_rank() && shape.rank() >= 1) ctx.set_output(0, SubShape(shape, 0, shape.rank() - 1));
  return OkStatus();
}

Status Crossed(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown, 2});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{2});
  return OkStatus();
}

Status ManyHandles(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown});
  return OkStatus();
}

// A sparse tensor of unknown rank.
Status TakenSparse(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown, kUnknown});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{kUnknown});
  return OkStatus();
}

Status SparseBincount(ShapeContext& ctx) {
  const int64_t size = ctx.InputAsInt(3).value_or(kUnknown), rank = Dim(ctx.input(2), 0);
  if (size < kUnknown) return InvalidArgument("size (", size, ") must be non-negative");
  if (rank == 1) ctx.set_output(0, PartialShape{size});
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  if (rank >= 2) ctx.set_output(0, PartialShape{Dim(shape, 0), size});
  return OkStatus();
}

Status SerializedSparse(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{3});
  return OkStatus();
}

Status SerializedManySparse(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown, 3});
  return OkStatus();
}

Status SparseAddGrad(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{Dim(ctx.input(1), 0)});
  ctx.set_output(1, PartialShape{Dim(ctx.input(2), 0)});
  return OkStatus();
}

Status SparseFillGrad(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{Dim(ctx.input(0), 0)});
  ctx.set_output(1, Shape());
  return OkStatus();
}

Status SparseSliceGrad(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{Dim(ctx.input(1), 0)});
  return OkStatus();
}

Status SparsePair(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown, Dim(ctx.input(0), 1)});
  ctx.set_output(1, PartialShape{kUnknown});
  return OkStatus();
}

Status SparseReduce(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  std::optional<std::vector<int64_t>> axes = ConstantInts(ctx, 3);
  if (!shape.has_rank() || !axes) return OkStatus();
  const bool keep = ctx.Attr<bool>("keep_dims").value_or(false);
  std::vector<bool> reduced(shape.rank(), axes->empty());
  for (int64_t axis : *axes) {
    WEIR_ASSIGN_OR_RETURN(int d, NormalizeAxis(axis, shape.rank()));
    reduced[d] = true;
  }
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int d = 0; d < shape.rank(); ++d) {
    if (!reduced[d]) out.add_dim(shape.dim(d));
    if (reduced[d] && keep) out.add_dim(1);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status LikeDense(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(3));
  return OkStatus();
}

// Gradients of the rows that occur, and which those are.
Status SparseSegmentGradV2(ShapeContext& ctx) {
  PartialShape rows = ctx.input(0);
  if (rows.has_rank() && rows.rank() >= 1) rows.set_dim(0, kUnknown);
  ctx.set_output(0, std::move(rows));
  ctx.set_output(1, PartialShape{kUnknown});
  return OkStatus();
}

Status SparseSplit(ShapeContext& ctx) {
  const int64_t rank = Dim(ctx.input(1), 1);
  const int parts = ctx.num_outputs() / 3;
  for (int i = 0; i < parts; ++i) {
    ctx.set_output(i, PartialShape{kUnknown, rank});
    ctx.set_output(parts + i, PartialShape{kUnknown});
    ctx.set_output(2 * parts + i, PartialShape{rank});
  }
  return OkStatus();
}

Status CountsOfRank(ShapeContext& ctx, int64_t rank) {
  ctx.set_output(0, PartialShape{kUnknown, rank});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{rank});
  return OkStatus();
}
Status DenseCount(ShapeContext& ctx) {
  return CountsOfRank(ctx, ctx.input(0).has_rank() ? ctx.input(0).rank() : kUnknown);
}
Status RaggedCount(ShapeContext& ctx) { return CountsOfRank(ctx, 2); }
// Rows of a tensor of more dimensions are those of the first.
Status SparseCount(ShapeContext& ctx) {
  const int64_t rank = Dim(ctx.input(2), 0);
  return CountsOfRank(ctx, std::min<int64_t>(rank, 2));
}

// The kernel takes splits of any shape, as TensorFlow's does: their number counts.
Status RaggedBincount(ShapeContext& ctx) {
  const int64_t size = ctx.InputAsInt(2).value_or(kUnknown), ends = ctx.input(0).num_elements();
  if (size < kUnknown) return InvalidArgument("size (", size, ") must be non-negative");
  ctx.set_output(0, PartialShape{ends > 0 ? ends - 1 : kUnknown, size});
  return OkStatus();
}

// One distance for each sequence: all dimensions but the last, the larger of both inputs' shapes.
Status EditDistance(ShapeContext& ctx) {
  std::optional<std::vector<int64_t>> a = ConstantInts(ctx, 2), b = ConstantInts(ctx, 5);
  if (!a || !b || a->size() != b->size() || a->empty()) return OkStatus();
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (size_t d = 0; d + 1 < a->size(); ++d) out.add_dim(std::max<int64_t>(std::max((*a)[d], (*b)[d]), 0));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status RaggedRange(ShapeContext& ctx) {
  int64_t rows = kUnknown;
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).rank() == 1 && ctx.input(i).dim(0) >= 0) rows = ctx.input(i).dim(0);
  }
  ctx.set_output(0, PartialShape{rows < 0 ? kUnknown : rows + 1});
  ctx.set_output(1, PartialShape{kUnknown});
  return OkStatus();
}

Status RaggedGather(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(ArgRange values_input, ctx.InputRange("params_dense_values"));
  const int values = ctx.num_outputs() - 1;
  for (int i = 0; i < values; ++i) ctx.set_output(i, PartialShape{kUnknown});
  PartialShape shape = ctx.input(values_input.begin);
  if (shape.has_rank() && shape.rank() >= 1) shape.set_dim(0, kUnknown);
  ctx.set_output(values, std::move(shape));
  return OkStatus();
}

Status RaggedToSparse(ShapeContext& ctx) {
  const int splits = ctx.num_inputs() - 1;
  const PartialShape& values = ctx.input(splits);
  const int64_t rank = values.has_rank() ? values.rank() + splits : kUnknown;
  ctx.set_output(0, PartialShape{kUnknown, rank});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{rank});
  return OkStatus();
}

Status RaggedToVariant(ShapeContext& ctx) {
  if (!ctx.Attr<bool>("batched_input").value_or(false)) {
    ctx.set_output(0, Shape());
    return OkStatus();
  }
  const bool split = ctx.num_inputs() > 1;
  const int64_t size = Dim(ctx.input(0), 0);
  ctx.set_output(0, PartialShape{size < 0 ? kUnknown : split ? std::max<int64_t>(size - 1, 0) : size});
  return OkStatus();
}

Status RaggedFromVariant(ShapeContext& ctx) {
  for (int i = 0; i + 1 < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape{kUnknown});
  return OkStatus();
}

Status RaggedToVariantGradient(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  ctx.set_output(0, std::move(shape));
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
  registry.RegisterShapeFunction("ragged_fill_empty_rows", RaggedFillEmptyRows);
  registry.RegisterShapeFunction("ragged_cross", RaggedCross);
  registry.RegisterShapeFunction("sets", Sets);
  registry.RegisterShapeFunction("set_size", SetSize);
  registry.RegisterShapeFunction("many_handles", ManyHandles);
  registry.RegisterShapeFunction("crossed", Crossed);
  registry.RegisterShapeFunction("taken_sparse", TakenSparse);
  registry.RegisterShapeFunction("sparse_bincount", SparseBincount);
  registry.RegisterShapeFunction("serialized_sparse", SerializedSparse);
  registry.RegisterShapeFunction("serialized_many_sparse", SerializedManySparse);
  registry.RegisterShapeFunction("sparse_add_grad", SparseAddGrad);
  registry.RegisterShapeFunction("sparse_fill_grad", SparseFillGrad);
  registry.RegisterShapeFunction("sparse_slice_grad", SparseSliceGrad);
  registry.RegisterShapeFunction("sparse_pair", SparsePair);
  registry.RegisterShapeFunction("sparse_reduce", SparseReduce);
  registry.RegisterShapeFunction("sparse_reduced", TakenSparse);
  registry.RegisterShapeFunction("like_dense", LikeDense);
  registry.RegisterShapeFunction("sparse_segment_grad_v2", SparseSegmentGradV2);
  registry.RegisterShapeFunction("sparse_split", SparseSplit);
  registry.RegisterShapeFunction("dense_count", DenseCount);
  registry.RegisterShapeFunction("ragged_bincount", RaggedBincount);
  registry.RegisterShapeFunction("row_counts", RaggedCount);
  registry.RegisterShapeFunction("sparse_row_counts", SparseCount);
  registry.RegisterShapeFunction("edit_distance", EditDistance);
  registry.RegisterShapeFunction("ragged_range", RaggedRange);
  registry.RegisterShapeFunction("ragged_gather", RaggedGather);
  registry.RegisterShapeFunction("ragged_to_sparse", RaggedToSparse);
  registry.RegisterShapeFunction("ragged_to_variant", RaggedToVariant);
  registry.RegisterShapeFunction("ragged_from_variant", RaggedFromVariant);
  registry.RegisterShapeFunction("ragged_to_variant_gradient", RaggedToVariantGradient);
}

}  // namespace weir
