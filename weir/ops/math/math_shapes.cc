// Shapes of arithmetic, products and reductions. Small integers are computed along: sizes are made of them.
#include <algorithm>
#include <cmath>

#include "weir/framework/op_registry.h"
#include "weir/ops/math/permutation.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

std::optional<int64_t> Compute(std::string_view op, int64_t a, int64_t b) {
  if (op == "AddV2" || op == "Add") return CheckedAdd(a, b);
  if (op == "Sub") return b == INT64_MIN ? std::nullopt : CheckedAdd(a, -b);
  if (op == "Mul") return CheckedMultiply(a, b);
  if (op == "Maximum") return std::max(a, b);
  if (op == "Minimum") return std::min(a, b);
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  int64_t quotient = a / b, rest = a % b;
  bool down = rest != 0 && (rest < 0) != (b < 0);
  if (op == "FloorDiv") return quotient - down;
  if (op == "FloorMod") return rest + (down ? b : 0);
  return std::nullopt;
}

Status Arithmetic(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(shapes::Broadcast(ctx));
  DType type = ctx.Attr<DType>("T").value_or(DType::kInvalid);
  if (type != DType::kInt32 && type != DType::kInt64) return OkStatus();
  std::optional<PartialInts> a = KnownInts(ctx, 0), b = KnownInts(ctx, 1);
  if (!a || !b || ctx.input(0).rank() > 1 || ctx.input(1).rank() > 1) return OkStatus();
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return OkStatus();
  const size_t n = a->size() == 1 ? b->size() : a->size();
  PartialInts out;
  for (size_t i = 0; i < n; ++i) {
    const auto &x = (*a)[a->size() == 1 ? 0 : i], &y = (*b)[b->size() == 1 ? 0 : i];
    std::optional<int64_t> value = x && y ? Compute(ctx.schema().name, *x, *y) : std::nullopt;
    if (value && type == DType::kInt32 && (*value < INT32_MIN || *value > INT32_MAX)) value.reset();
    out.push_back(value);
  }
  SetKnownInts(ctx, 0, type, ctx.input(0).rank() == 0 && ctx.input(1).rank() == 0, out);
  return OkStatus();
}

// Shapes that do not broadcast are an answer too, if the op is told so.
Status Equal(ShapeContext& ctx) {
  if (ctx.Attr<bool>("incompatible_shape_error").value_or(true)) return shapes::Broadcast(ctx);
  const PartialShape &a = ctx.input(0), &b = ctx.input(1);
  StatusOr<PartialShape> out = BroadcastShapes(a, b);
  if (!out.ok() || !a.has_rank() || !b.has_rank()) return OkStatus();
  // Unsure where one size is known and the other may be it or 1; two unknown sizes are as for any other op.
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const int64_t x = a.dim(a.rank() - i), y = b.dim(b.rank() - i);
    if (x != 1 && y != 1 && (x < 0) != (y < 0)) return OkStatus();
  }
  ctx.set_output(0, *std::move(out));
  return OkStatus();
}

Status Cast(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(0));
  DType to = ctx.Attr<DType>("DstT").value_or(DType::kInvalid);
  std::optional<PartialInts> values = KnownInts(ctx, 0);
  if (values && ctx.input(0).rank() <= 1 && ctx.input(0).has_rank()) {
    SetKnownInts(ctx, 0, to, ctx.input(0).rank() == 0, *values);
  }
  return OkStatus();
}

Status MatMul(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape a, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape b, ctx.WithRank(1, 2));
  WEIR_ASSIGN_OR_RETURN(bool transpose_a, ctx.Attr<bool>("transpose_a"));
  WEIR_ASSIGN_OR_RETURN(bool transpose_b, ctx.Attr<bool>("transpose_b"));
  WEIR_RETURN_IF_ERROR(MergeDims(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0)).status());
  ctx.set_output(0, PartialShape{a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)});
  return OkStatus();
}

Status BatchMatMul(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape a, ctx.WithRankAtLeast(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape b, ctx.WithRankAtLeast(1, 2));
  if (!a.has_rank() || !b.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(bool adj_x, ctx.Attr<bool>("adj_x"));
  WEIR_ASSIGN_OR_RETURN(bool adj_y, ctx.Attr<bool>("adj_y"));
  const int ra = a.rank(), rb = b.rank();
  WEIR_RETURN_IF_ERROR(MergeDims(a.dim(adj_x ? ra - 2 : ra - 1), b.dim(adj_y ? rb - 1 : rb - 2)).status());
  PartialShape batch_a = SubShape(a, 0, ra - 2), batch_b = SubShape(b, 0, rb - 2), out;
  if (ctx.schema().name == "BatchMatMul") {
    WEIR_ASSIGN_OR_RETURN(out, UnifyShapes(batch_a, batch_b));
  } else {
    WEIR_ASSIGN_OR_RETURN(out, BroadcastShapes(batch_a, batch_b));
  }
  out.add_dim(a.dim(adj_x ? ra - 1 : ra - 2));
  out.add_dim(b.dim(adj_y ? rb - 2 : rb - 1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status SobolSample(ShapeContext& ctx) {
  for (int i = 0; i < 3; ++i) WEIR_RETURN_IF_ERROR(ctx.WithRank(i, 0).status());
  ctx.set_output(0, PartialShape{std::max(kUnknown, ctx.InputAsInt(1).value_or(kUnknown)),
                                 std::max(kUnknown, ctx.InputAsInt(0).value_or(kUnknown))});
  return OkStatus();
}

// The view of an input, or nothing if its rank is unknown.
StatusOr<std::optional<PartialShape>> ViewOf(ShapeContext& ctx, int input, std::string_view which) {
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> perm, ctx.Attr<std::vector<int64_t>>(Cat("perm_", which)));
  WEIR_ASSIGN_OR_RETURN(int64_t slice, ctx.Attr<int64_t>(Cat("slice_", which)));
  const size_t first = slice >= 0 ? 1 : 0;
  if (!IsPermutation(perm) || perm.size() < first + 2) return InvalidArgument("perm_", which, " is no permutation");
  WEIR_ASSIGN_OR_RETURN(PartialShape x, ctx.WithRank(input, static_cast<int>(perm.size())));
  if (!x.has_rank()) return std::nullopt;
  PartialShape view = PartialShape::UnknownOfRank(0);
  for (size_t i = first; i < perm.size(); ++i) view.add_dim(x.dim(static_cast<int>(perm[i])));
  return view;
}

Status BatchMatMulOfViews(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::optional<PartialShape> a, ViewOf(ctx, 0, "x"));
  WEIR_ASSIGN_OR_RETURN(std::optional<PartialShape> b, ViewOf(ctx, 1, "y"));
  WEIR_ASSIGN_OR_RETURN(bool adj_x, ctx.Attr<bool>("adj_x"));
  WEIR_ASSIGN_OR_RETURN(bool adj_y, ctx.Attr<bool>("adj_y"));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> perm, ctx.Attr<std::vector<int64_t>>("perm_output"));
  if (!a || !b) return OkStatus();
  const int rank = a->rank();
  if (b->rank() != rank || perm.size() != static_cast<size_t>(rank) || !IsPermutation(perm)) {
    return InvalidArgument("The views have ranks ", rank, " and ", b->rank(), ", the output ", perm.size());
  }
  WEIR_RETURN_IF_ERROR(MergeDims(a->dim(adj_x ? rank - 2 : rank - 1), b->dim(adj_y ? rank - 1 : rank - 2)).status());
  WEIR_ASSIGN_OR_RETURN(PartialShape product, UnifyShapes(SubShape(*a, 0, rank - 2), SubShape(*b, 0, rank - 2)));
  product.add_dim(a->dim(adj_x ? rank - 1 : rank - 2));
  product.add_dim(b->dim(adj_y ? rank - 2 : rank - 1));
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int64_t d : perm) out.add_dim(product.dim(static_cast<int>(d)));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status Reduction(ShapeContext& ctx) {
  const PartialShape &in = ctx.input(0), &axes_shape = ctx.input(1);
  WEIR_RETURN_IF_ERROR(ctx.WithRankAtMost(1, 1).status());
  WEIR_ASSIGN_OR_RETURN(bool keep, ctx.Attr<bool>("keep_dims"));
  std::optional<std::vector<int64_t>> axes = ConstantInts(ctx, 1);
  if (!in.has_rank()) return OkStatus();
  if (!axes) {
    if (keep) {
      ctx.set_output(0, PartialShape::UnknownOfRank(in.rank()));
    } else if (axes_shape.rank() == 0 && in.rank() > 0) {
      ctx.set_output(0, PartialShape::UnknownOfRank(in.rank() - 1));
    }
    return OkStatus();
  }
  std::vector<bool> reduced(in.rank(), false);
  for (int64_t axis : *axes) {
    if (axis < -in.rank() || axis >= in.rank()) {
      return InvalidArgument("Invalid reduction dimension ", axis, " for input with ", in.rank(), " dimensions.");
    }
    reduced[axis < 0 ? axis + in.rank() : axis] = true;
  }
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[i]) {
      out.add_dim(in.dim(i));
    } else if (keep) {
      out.add_dim(1);
    }
  }
  bool to_scalar = out.rank() == 0 && in.rank() == 1;
  ctx.set_output(0, std::move(out));
  std::optional<PartialInts> values = to_scalar ? KnownInts(ctx, 0) : std::nullopt;
  const std::string& op = ctx.schema().name;
  if (!values || (op != "Prod" && op != "Sum")) return OkStatus();
  std::optional<int64_t> total = op == "Prod" ? 1 : 0;
  for (const auto& v : *values) {
    if (!total || !v) return OkStatus();
    total = op == "Prod" ? CheckedMultiply(*total, *v) : CheckedAdd(*total, *v);
  }
  SetKnownInts(ctx, 0, ctx.Attr<DType>("T").value_or(DType::kInvalid), true, {total});
  return OkStatus();
}

Status ArgReduction(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  if (!in.has_rank()) return OkStatus();
  if (in.rank() <= 1) {
    ctx.set_output(0, Shape());
    return OkStatus();
  }
  std::optional<int64_t> axis = ctx.InputAsInt(1);
  if (!axis) {
    ctx.set_output(0, PartialShape::UnknownOfRank(in.rank() - 1));
    return OkStatus();
  }
  if (*axis < -in.rank() || *axis >= in.rank()) {
    return InvalidArgument("Dimension (", *axis, ") must be in the range [", -in.rank(), ", ", in.rank(), "), where ",
                           in.rank(), " is the number of dimensions in the input.");
  }
  int at = static_cast<int>(*axis < 0 ? *axis + in.rank() : *axis);
  ctx.set_output(0, ConcatShapes(SubShape(in, 0, at), SubShape(in, at + 1, in.rank())));
  return OkStatus();
}

Status Select(ShapeContext& ctx) {
  StatusOr<PartialShape> out = UnifyShapes(ctx.input(1), ctx.input(2));
  if (!out.ok()) return out.status();
  const PartialShape& condition = ctx.input(0);
  // A scalar picks all, a vector picks rows, else the shapes are equal.
  if (condition.rank() > 1 && out->has_rank()) WEIR_RETURN_IF_ERROR(UnifyShapes(condition, *out).status());
  if (condition.rank() == 1 && out->rank() >= 1)
    WEIR_RETURN_IF_ERROR(MergeDims(condition.dim(0), out->dim(0)).status());
  ctx.set_output(0, *std::move(out));
  return OkStatus();
}

Status SelectV2(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape values, BroadcastShapes(ctx.input(1), ctx.input(2)));
  WEIR_ASSIGN_OR_RETURN(PartialShape out, BroadcastShapes(ctx.input(0), values));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

std::optional<double> AsDouble(const Tensor* value) {
  std::optional<double> out;
  if (value == nullptr || value->num_elements() != 1) return out;
  DispatchDType(value->dtype(), TypeList<float, double, int32_t, int64_t>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    out = static_cast<double>(value->scalar<T>());
  });
  return out;
}

Status Range(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown});
  for (int i = 0; i < 3; ++i) {
    if (Status status = ctx.WithRank(i, 0).status(); !status.ok()) return status;
  }
  auto start = ctx.InputAsInt(0), limit = ctx.InputAsInt(1), delta = ctx.InputAsInt(2);
  if (start && limit && delta) {
    if (*delta == 0) return InvalidArgument("Requires delta != 0");
    if (*delta > 0 && *start > *limit) {
      return InvalidArgument("Requires start <= limit when delta > 0: ", *start, "/", *limit);
    }
    if (*delta < 0 && *start < *limit) {
      return InvalidArgument("Requires start >= limit when delta < 0: ", *start, "/", *limit);
    }
    uint64_t span = *delta > 0 ? static_cast<uint64_t>(*limit) - static_cast<uint64_t>(*start)
                               : static_cast<uint64_t>(*start) - static_cast<uint64_t>(*limit);
    uint64_t step = *delta > 0 ? static_cast<uint64_t>(*delta) : 0 - static_cast<uint64_t>(*delta);
    uint64_t count = span / step + (span % step != 0);
    if (count > static_cast<uint64_t>(INT64_MAX)) return InvalidArgument("Requires fewer than 2^63 elements");
    ctx.set_output(0, PartialShape{static_cast<int64_t>(count)});
    if (count <= 64) {
      PartialInts values;
      for (uint64_t i = 0; i < count; ++i) values.push_back(*start + static_cast<int64_t>(i) * *delta);
      SetKnownInts(ctx, 0, ctx.Attr<DType>("Tidx").value_or(DType::kInvalid), false, values);
    }
    return OkStatus();
  }
  auto from = AsDouble(ctx.input_value(0)), to = AsDouble(ctx.input_value(1)), by = AsDouble(ctx.input_value(2));
  if (!from || !to || !by) return OkStatus();
  if (*by == 0) return InvalidArgument("Requires delta != 0");
  double count = std::ceil((*to - *from) / *by);
  if (count >= 0 && count < 1e15) ctx.set_output(0, PartialShape{static_cast<int64_t>(count)});
  return OkStatus();
}

Status LinSpace(ShapeContext& ctx) {
  std::optional<int64_t> num = ctx.InputAsInt(2);
  if (num && *num <= 0) return InvalidArgument("Requires num > 0: ", *num);
  ctx.set_output(0, PartialShape{num.value_or(kUnknown)});
  return OkStatus();
}

// Rows of input 0, as many as the ids say: unknown before the step.
Status Segment(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape data, ctx.WithRankAtLeast(0, 1));
  if (!data.has_rank()) return OkStatus();
  data.set_dim(0, kUnknown);
  ctx.set_output(0, std::move(data));
  return OkStatus();
}

Status UnsortedSegment(ShapeContext& ctx) {
  const PartialShape &data = ctx.input(0), &ids = ctx.input(1);
  if (!data.has_rank() || !ids.has_rank()) return OkStatus();
  if (ids.rank() > data.rank()) {
    return InvalidArgument("Shape must be at least rank ", ids.rank(), " but is rank ", data.rank());
  }
  WEIR_RETURN_IF_ERROR(UnifyShapes(SubShape(data, 0, ids.rank()), ids).status());
  std::optional<int64_t> count = ctx.InputAsInt(2);
  if (count && *count < 0) return InvalidArgument("num_segments must be >= 0, but is ", *count);
  PartialShape out{count.value_or(kUnknown)};
  ctx.set_output(0, ConcatShapes(out, SubShape(data, ids.rank(), data.rank())));
  return OkStatus();
}

Status Bincount(ShapeContext& ctx) {
  std::optional<int64_t> size = ctx.InputAsInt(1);
  if (size && *size < 0) return InvalidArgument("size (", *size, ") must be non-negative");
  const PartialShape& in = ctx.input(0);
  if (ctx.schema().name == "DenseBincount" && in.rank() == 2) {
    ctx.set_output(0, PartialShape{in.dim(0), size.value_or(kUnknown)});
  } else if (ctx.schema().name == "Bincount" || in.has_rank()) {
    ctx.set_output(0, PartialShape{size.value_or(kUnknown)});
  }
  return OkStatus();
}

Status ClipByValue(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape low, BroadcastShapes(ctx.input(0), ctx.input(1)));
  WEIR_ASSIGN_OR_RETURN(PartialShape out, BroadcastShapes(low, ctx.input(2)));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// All operands alike, scalars apart.
Status Betainc(ShapeContext& ctx) {
  PartialShape merged;
  int scalars = 0;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& in = ctx.input(i);
    if (in.rank() == 0) {
      ++scalars;
    } else if (in.has_rank()) {
      WEIR_ASSIGN_OR_RETURN(merged, UnifyShapes(merged, in));
    }
  }
  ctx.set_output(0, scalars == 3 ? PartialShape(Shape()) : std::move(merged));
  return OkStatus();
}

Status Histogram(ShapeContext& ctx) {
  std::optional<int64_t> bins = ctx.InputAsInt(2);
  if (bins && *bins < 0) return InvalidArgument("nbins should be non-negative, got ", *bins);
  ctx.set_output(0, PartialShape{bins.value_or(kUnknown)});
  return OkStatus();
}

}  // namespace

void RegisterMathShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("arithmetic", Arithmetic);
  registry.RegisterShapeFunction("equal", Equal);
  registry.RegisterShapeFunction("cast", Cast);
  registry.RegisterShapeFunction("matmul", MatMul);
  registry.RegisterShapeFunction("batch_matmul", BatchMatMul);
  registry.RegisterShapeFunction("sobol_sample", SobolSample);
  registry.RegisterShapeFunction("batch_matmul_of_views", BatchMatMulOfViews);
  registry.RegisterShapeFunction("reduction", Reduction);
  registry.RegisterShapeFunction("arg_reduction", ArgReduction);
  registry.RegisterShapeFunction("select", Select);
  registry.RegisterShapeFunction("select_v2", SelectV2);
  registry.RegisterShapeFunction("range", Range);
  registry.RegisterShapeFunction("lin_space", LinSpace);
  registry.RegisterShapeFunction("segment", Segment);
  registry.RegisterShapeFunction("unsorted_segment", UnsortedSegment);
  registry.RegisterShapeFunction("bincount", Bincount);
  registry.RegisterShapeFunction("clip_by_value", ClipByValue);
  registry.RegisterShapeFunction("betainc", Betainc);
  registry.RegisterShapeFunction("histogram", Histogram);
}

}  // namespace weir
