// Shapes of the string ops.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

// Scalars go with everything; the others are of one shape.
Status StringJoin(ShapeContext& ctx) {
  bool open = false;
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.input(i).has_rank()) {
      open = true;
    } else if (ctx.input(i).rank() > 0) {
      if (out.rank() == 0) out = ctx.input(i);
      WEIR_ASSIGN_OR_RETURN(out, UnifyShapes(out, ctx.input(i)));
    }
  }
  ctx.set_output(0, open && out.rank() == 0 ? PartialShape() : out);
  return OkStatus();
}

Status Substr(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(UnifyShapes(ctx.input(1), ctx.input(2)).status());
  WEIR_ASSIGN_OR_RETURN(PartialShape out, BroadcastShapes(ctx.input(0), ctx.input(1)));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status ReduceJoin(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  std::optional<std::vector<int64_t>> axes = ConstantInts(ctx, 1);
  if (!in.has_rank() || !axes) return OkStatus();
  const bool keep = ctx.Attr<bool>("keep_dims").value_or(false);
  std::vector<bool> joined(in.rank(), false);
  for (int64_t axis : *axes) {
    WEIR_ASSIGN_OR_RETURN(int d, NormalizeAxis(axis, in.rank()));
    joined[d] = true;
  }
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int d = 0; d < in.rank(); ++d) {
    if (!joined[d]) out.add_dim(in.dim(d));
    if (joined[d] && keep) out.add_dim(1);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// A sparse matrix: indices, values, shape.
Status StringNGrams(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{kUnknown});
  ctx.set_output(1, ctx.input(1));
  return OkStatus();
}

Status StringSplit(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 1).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  ctx.set_output(0, PartialShape{kUnknown, 2});
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{2});
  return OkStatus();
}

Status RegexReplace(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(2, 0).status());
  return shapes::Unchanged(ctx);
}

// Every output a vector.
Status Vectors(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape{kUnknown});
  return OkStatus();
}

// Row splits are one more than the strings.
Status UnicodeDecode(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(Vectors(ctx));
  const int64_t strings = ctx.input(0).num_elements();
  if (strings >= 0) ctx.set_output(0, PartialShape{strings + 1});
  return OkStatus();
}

}  // namespace

void RegisterStringShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("string_join", StringJoin);
  registry.RegisterShapeFunction("substr", Substr);
  registry.RegisterShapeFunction("reduce_join", ReduceJoin);
  registry.RegisterShapeFunction("string_ngrams", StringNGrams);
  registry.RegisterShapeFunction("string_split", StringSplit);
  registry.RegisterShapeFunction("regex_replace", RegexReplace);
  registry.RegisterShapeFunction("vectors", Vectors);
  registry.RegisterShapeFunction("unicode_decode", UnicodeDecode);
}

}  // namespace weir
