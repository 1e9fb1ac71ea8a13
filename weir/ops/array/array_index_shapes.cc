// Shapes of the ops that pick, move and spread elements.
#include <algorithm>

#include "weir/framework/op_registry.h"
#include "weir/framework/strided_slice.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

Status Transpose(ShapeContext& ctx) {
  const PartialShape &in = ctx.input(0), &perm = ctx.input(1);
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
  int rank = in.has_rank() ? in.rank() : (perm.has_rank() && perm.dim(0) >= 0 ? static_cast<int>(perm.dim(0)) : -1);
  std::optional<std::vector<int64_t>> order = ConstantInts(ctx, 1);
  if (order) rank = rank < 0 ? static_cast<int>(order->size()) : rank;
  if (rank < 0 || rank > Shape::kMaxRank) return OkStatus();
  if (perm.has_rank() && perm.dim(0) >= 0 && perm.dim(0) != rank) {
    return InvalidArgument("Dimension must be ", rank, " but is ", perm.dim(0));
  }
  PartialShape out = PartialShape::UnknownOfRank(rank);
  if (order) {
    for (int i = 0; i < rank; ++i) {
      int64_t from = (*order)[i] < 0 ? (*order)[i] + rank : (*order)[i];
      if (from < 0 || from >= rank) {
        return InvalidArgument("perm dim ", (*order)[i], " is out of range of input rank ", rank);
      }
      if (in.has_rank()) out.set_dim(i, in.dim(static_cast<int>(from)));
    }
  } else if (in.has_rank() && rank <= 1) {
    out = in;
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Slice(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  std::optional<PartialInts> begin = KnownInts(ctx, 1), size = KnownInts(ctx, 2);
  size_t rank = in.has_rank() ? in.rank() : begin ? begin->size() : size ? size->size() : Shape::kMaxRank + 1;
  if (rank > Shape::kMaxRank) return OkStatus();
  if ((begin && begin->size() != rank) || (size && size->size() != rank)) {
    return InvalidArgument("Expected begin and size arguments to be 1-D tensors of size ", rank);
  }
  PartialShape out = PartialShape::UnknownOfRank(static_cast<int>(rank));
  for (size_t i = 0; i < rank && size; ++i) {
    if (!(*size)[i]) continue;
    int64_t n = *(*size)[i], whole = in.has_rank() ? in.dim(static_cast<int>(i)) : kUnknown;
    if (n < -1) return InvalidArgument("Invalid value in tensor used for shape: ", n);
    if (n >= 0) {
      out.set_dim(static_cast<int>(i), n);
    } else if (begin && (*begin)[i] && *(*begin)[i] >= 0 && whole >= *(*begin)[i]) {
      out.set_dim(static_cast<int>(i), whole - *(*begin)[i]);
    }
  }
  ctx.set_output(0, std::move(out));
  if (rank != 1 || !begin || !size || !(*begin)[0] || !(*size)[0]) return OkStatus();
  std::optional<PartialInts> values = KnownInts(ctx, 0);
  int64_t first = *(*begin)[0];
  if (!values || first < 0 || first > static_cast<int64_t>(values->size())) return OkStatus();
  int64_t count = *(*size)[0] < 0 ? static_cast<int64_t>(values->size()) - first : *(*size)[0];
  if (count > static_cast<int64_t>(values->size()) - first) return OkStatus();
  PartialInts part(values->begin() + first, values->begin() + first + count);
  SetKnownInts(ctx, 0, ctx.Attr<DType>("T").value_or(DType::kInvalid), false, part);
  return OkStatus();
}

// What a slice of a vector of sizes takes, as far as the elements are known: x.shape[1:].
void FollowElements(ShapeContext& ctx, const SliceRange& range, bool is_scalar) {
  std::optional<PartialInts> values = KnownInts(ctx, 0);
  if (!values || range.count < 0) return;
  PartialInts part;
  for (int64_t k = 0; k < range.count; ++k) {
    const int64_t at = range.first + k * range.stride;
    if (at < 0 || at >= static_cast<int64_t>(values->size())) return;
    part.push_back((*values)[at]);
  }
  SetKnownInts(ctx, 0, ctx.Attr<DType>("T").value_or(DType::kInvalid), is_scalar, part);
}

Status StridedSlice(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  WEIR_ASSIGN_OR_RETURN(StridedSliceMasks masks, StridedSliceMasks::FromAttrs(ctx));
  std::optional<PartialInts> begin = KnownInts(ctx, 1), end = KnownInts(ctx, 2), strides = KnownInts(ctx, 3);
  if (!in.has_rank() || !begin || !end || !strides) return OkStatus();
  const size_t n = begin->size();
  if (end->size() != n || strides->size() != n) {
    auto shown = [](const PartialInts& ints) { return Cat("[", ints.size(), "]"); };
    return UnequalSliceVectors(shown(*begin), shown(*end), shown(*strides));
  }
  std::vector<SliceEntry> entries(n);
  for (size_t i = 0; i < n; ++i) entries[i] = {(*begin)[i], (*end)[i], (*strides)[i]};
  WEIR_ASSIGN_OR_RETURN(SliceRanges slice, SolveStridedSlice(in.dims(), entries, masks));
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int source : slice.result) {
    out.add_dim(source == SliceRanges::kNewAxis ? 1 : slice.ranges[source].count);
  }
  const int out_rank = out.rank();
  ctx.set_output(0, std::move(out));
  if (in.rank() == 1 && n == 1 && out_rank <= 1) FollowElements(ctx, slice.ranges[0], out_rank == 0);
  return OkStatus();
}

// The gradient of a slice has the shape that its first input says.
Status StridedSliceGrad(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(0));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Gather(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape params, ctx.WithRankAtLeast(0, 1));
  if (params.has_rank()) ctx.set_output(0, ConcatShapes(ctx.input(1), SubShape(params, 1, params.rank())));
  return OkStatus();
}

Status GatherV2(ShapeContext& ctx) {
  const PartialShape &params = ctx.input(0), &indices = ctx.input(1);
  std::optional<int64_t> axis = ctx.InputAsInt(2);
  WEIR_ASSIGN_OR_RETURN(int64_t batch, ctx.Attr<int64_t>("batch_dims"));
  if (!params.has_rank() || !indices.has_rank()) return OkStatus();
  if (batch < 0) batch += indices.rank();
  if (batch < 0 || batch > std::min(indices.rank(), params.rank())) {
    return InvalidArgument("batch_dims (", batch, ") must be less than rank(indices) (", indices.rank(), ")");
  }
  if (!axis) {
    int rank = params.rank() - 1 + indices.rank() - static_cast<int>(batch);
    if (rank >= 0) ctx.set_output(0, PartialShape::UnknownOfRank(rank));
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(int at, NormalizeAxis(*axis, params.rank()));
  if (batch > at) return InvalidArgument("batch_dims (", batch, ") must be less than or equal to axis (", at, ")");
  PartialShape out = SubShape(params, 0, at);
  out = ConcatShapes(out, SubShape(indices, static_cast<int>(batch), indices.rank()));
  ctx.set_output(0, ConcatShapes(out, SubShape(params, at + 1, params.rank())));
  if (params.rank() != 1 || indices.rank() > 1) return OkStatus();
  std::optional<PartialInts> values = KnownInts(ctx, 0);
  std::optional<std::vector<int64_t>> where = ConstantInts(ctx, 1);
  if (!values || !where) return OkStatus();
  PartialInts picked;
  for (int64_t i : *where) {
    if (i < 0 || i >= static_cast<int64_t>(values->size())) return OkStatus();
    picked.push_back((*values)[i]);
  }
  SetKnownInts(ctx, 0, ctx.Attr<DType>("Tparams").value_or(DType::kInvalid), indices.rank() == 0, picked);
  return OkStatus();
}

Status GatherNd(ShapeContext& ctx) {
  const PartialShape &params = ctx.input(0), &indices = ctx.input(1);
  WEIR_RETURN_IF_ERROR(ctx.WithRankAtLeast(1, 1).status());
  if (!params.has_rank() || !indices.has_rank()) return OkStatus();
  int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return OkStatus();
  if (depth > params.rank()) {
    return InvalidArgument("indices.shape[-1] must be <= params.rank, but saw indices shape: ", indices.ToString(),
                           " and params shape: ", params.ToString());
  }
  ctx.set_output(0, ConcatShapes(SubShape(indices, 0, indices.rank() - 1),
                                 SubShape(params, static_cast<int>(depth), params.rank())));
  return OkStatus();
}

Status Tile(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
  std::optional<PartialInts> multiples = KnownInts(ctx, 1);
  if (!in.has_rank()) {
    if (multiples && multiples->size() <= Shape::kMaxRank) {
      ctx.set_output(0, PartialShape::UnknownOfRank(static_cast<int>(multiples->size())));
    }
    return OkStatus();
  }
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  if (multiples) {
    if (static_cast<int>(multiples->size()) != in.rank()) {
      return InvalidArgument("Shape must be rank ", multiples->size(), " but is rank ", in.rank());
    }
    for (int i = 0; i < in.rank(); ++i) {
      if (!(*multiples)[i]) continue;
      if (*(*multiples)[i] < 0) return InvalidArgument("Expected multiples[", i, "] >= 0, but got ", *(*multiples)[i]);
      WEIR_ASSIGN_OR_RETURN(int64_t dim, MultiplyDims(in.dim(i), *(*multiples)[i]));
      out.set_dim(i, dim);
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Pad(ShapeContext& ctx) {
  const PartialShape &in = ctx.input(0), &paddings = ctx.input(1);
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 2).status());
  std::optional<std::vector<int64_t>> pads = ConstantInts(ctx, 1);
  int64_t rank = in.has_rank() ? in.rank() : paddings.has_rank() ? paddings.dim(0) : kUnknown;
  if (rank < 0 || rank > Shape::kMaxRank) return OkStatus();
  if (paddings.has_rank()) {
    WEIR_RETURN_IF_ERROR(MergeDims(paddings.dim(1), 2).status());
    WEIR_RETURN_IF_ERROR(MergeDims(paddings.dim(0), rank).status());
  }
  PartialShape out = PartialShape::UnknownOfRank(static_cast<int>(rank));
  if (pads && in.has_rank() && static_cast<int64_t>(pads->size()) == 2 * rank) {
    for (int i = 0; i < rank; ++i) {
      int64_t before = (*pads)[2 * i], after = (*pads)[2 * i + 1];
      if (before < 0 || after < 0) return InvalidArgument("Paddings must be non-negative: ", before, " ", after);
      WEIR_ASSIGN_OR_RETURN(int64_t dim, AddDims(in.dim(i), before));
      WEIR_ASSIGN_OR_RETURN(dim, AddDims(dim, after));
      out.set_dim(i, dim);
    }
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Where(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown, ctx.input(0).has_rank() ? ctx.input(0).rank() : kUnknown});
  return OkStatus();
}

Status OneHot(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(int64_t axis, ctx.Attr<int64_t>("axis"));
  if (axis < -1 || axis > in.rank()) return InvalidArgument("axis must be >= -1 and at most the rank of indices");
  int at = static_cast<int>(axis < 0 ? in.rank() : axis);
  std::optional<int64_t> depth = ctx.InputAsInt(1);
  if (depth && *depth < 0) return InvalidArgument("depth must be non-negative, got: ", *depth);
  PartialShape out = SubShape(in, 0, at);
  out.add_dim(depth.value_or(kUnknown));
  ctx.set_output(0, ConcatShapes(out, SubShape(in, at, in.rank())));
  return OkStatus();
}

// The shape is the value of the last input.
Status ScatterNd(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(2));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Unique(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  bool is_vector = ctx.schema().FindInput("axis") < 0;
  ctx.set_output(0, is_vector       ? PartialShape{kUnknown}
                    : in.has_rank() ? PartialShape::UnknownOfRank(in.rank())
                                    : PartialShape());
  if (ctx.num_outputs() > 1) ctx.set_output(1, is_vector ? in : PartialShape{kUnknown});
  if (ctx.num_outputs() > 2) ctx.set_output(2, PartialShape{kUnknown});
  return OkStatus();
}

Status Diag(ShapeContext& ctx) {
  if (ctx.input(0).has_rank()) ctx.set_output(0, ConcatShapes(ctx.input(0), ctx.input(0)));
  return OkStatus();
}

Status DiagPart(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  if (in.rank() % 2 != 0) return InvalidArgument("Input must have even and non-zero rank, input rank is ", in.rank());
  int half = in.rank() / 2;
  WEIR_ASSIGN_OR_RETURN(PartialShape out, UnifyShapes(SubShape(in, 0, half), SubShape(in, half, in.rank())));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status MatrixDiag(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRankAtLeast(0, 1));
  if (!in.has_rank()) return OkStatus();
  PartialShape out = in;
  out.add_dim(in.dim(in.rank() - 1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status MatrixDiagPart(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRankAtLeast(0, 2));
  if (!in.has_rank()) return OkStatus();
  int64_t rows = in.dim(in.rank() - 2), columns = in.dim(in.rank() - 1);
  PartialShape out = SubShape(in, 0, in.rank() - 2);
  out.add_dim(rows < 0 || columns < 0 ? kUnknown : std::min(rows, columns));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status DynamicPartition(ShapeContext& ctx) {
  const PartialShape &data = ctx.input(0), &parts = ctx.input(1);
  if (!data.has_rank() || !parts.has_rank()) return OkStatus();
  if (parts.rank() > data.rank()) return InvalidArgument("data.shape must start with partitions.shape");
  WEIR_RETURN_IF_ERROR(UnifyShapes(SubShape(data, 0, parts.rank()), parts).status());
  PartialShape out = ConcatShapes(PartialShape{kUnknown}, SubShape(data, parts.rank(), data.rank()));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, out);
  return OkStatus();
}

Status DynamicStitch(ShapeContext& ctx) {
  int n = ctx.num_inputs() / 2;
  PartialShape rest;
  for (int i = 0; i < n; ++i) {
    const PartialShape &indices = ctx.input(i), &data = ctx.input(n + i);
    if (!indices.has_rank() || !data.has_rank()) continue;
    if (indices.rank() > data.rank()) return InvalidArgument("data[", i, "].shape must start with indices.shape");
    WEIR_ASSIGN_OR_RETURN(rest, UnifyShapes(rest, SubShape(data, indices.rank(), data.rank())));
  }
  ctx.set_output(0, ConcatShapes(PartialShape{kUnknown}, rest));
  return OkStatus();
}

Status EnsureShape(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  ctx.outputs()[0] = ctx.input_tensor(0);
  WEIR_ASSIGN_OR_RETURN(ctx.outputs()[0].shape, UnifyShapes(ctx.input(0), shape));
  return OkStatus();
}

Status ListDiff(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape{kUnknown});
  return OkStatus();
}

Status SecondInput(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

}  // namespace

void RegisterArrayIndexShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("transpose", Transpose);
  registry.RegisterShapeFunction("slice", Slice);
  registry.RegisterShapeFunction("strided_slice", StridedSlice);
  registry.RegisterShapeFunction("strided_slice_grad", StridedSliceGrad);
  registry.RegisterShapeFunction("gather", Gather);
  registry.RegisterShapeFunction("gather_v2", GatherV2);
  registry.RegisterShapeFunction("gather_nd", GatherNd);
  registry.RegisterShapeFunction("tile", Tile);
  registry.RegisterShapeFunction("pad", Pad);
  registry.RegisterShapeFunction("where", Where);
  registry.RegisterShapeFunction("one_hot", OneHot);
  registry.RegisterShapeFunction("scatter_nd", ScatterNd);
  registry.RegisterShapeFunction("unique", Unique);
  registry.RegisterShapeFunction("diag", Diag);
  registry.RegisterShapeFunction("diag_part", DiagPart);
  registry.RegisterShapeFunction("matrix_diag", MatrixDiag);
  registry.RegisterShapeFunction("matrix_diag_part", MatrixDiagPart);
  registry.RegisterShapeFunction("dynamic_partition", DynamicPartition);
  registry.RegisterShapeFunction("dynamic_stitch", DynamicStitch);
  registry.RegisterShapeFunction("ensure_shape", EnsureShape);
  registry.RegisterShapeFunction("list_diff", ListDiff);
  registry.RegisterShapeFunction("second_input", SecondInput);
}

}  // namespace weir
