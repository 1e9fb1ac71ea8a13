// Shapes of random operations.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

// The input `shape` says it; seeds, keys and bounds are checked as far as they are known.
Status RandomShape(ShapeContext& ctx) {
  const OpSchema& schema = ctx.schema();
  for (std::string_view name : {"minval", "maxval", "alg", "algorithm"}) {
    if (int i = schema.FindInput(name); i >= 0) WEIR_RETURN_IF_ERROR(ctx.WithRank(i, 0).status());
  }
  if (int i = schema.FindInput("seed"); i >= 0) {
    WEIR_RETURN_IF_ERROR(UnifyShapes(ctx.input(i), PartialShape{2}).status());
  }
  if (int i = schema.FindInput("key"); i >= 0) {
    WEIR_RETURN_IF_ERROR(UnifyShapes(ctx.input(i), PartialShape{1}).status());
  }
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(schema.FindInput("shape")));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// The shape of the samples, then that of the parameters.
Status RandomSamples(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(RandomShape(ctx));
  int parameters = -1;
  for (std::string_view name : {"alpha", "rate", "lam"}) {
    if (int i = ctx.schema().FindInput(name); i >= 0) parameters = i;
  }
  ctx.set_output(0, ConcatShapes(ctx.outputs()[0].shape, ctx.input(parameters)));
  return OkStatus();
}

Status MultinomialShape(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape logits, ctx.WithRank(0, 2));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  int64_t rows = logits.has_rank() ? logits.dim(0) : PartialShape::kUnknown;
  int64_t samples = ctx.InputAsInt(1).value_or(PartialShape::kUnknown);
  if (samples < PartialShape::kUnknown) return InvalidArgument("Dimension size must be >= 0, got ", samples);
  ctx.set_output(0, PartialShape{rows, samples});
  return OkStatus();
}

Status KeyCounter(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(UnifyShapes(ctx.input(0), PartialShape{2}).status());
  ctx.set_output(0, Shape{1});
  ctx.set_output(1, Shape{2});
  if (ctx.num_outputs() > 2) ctx.set_output(2, Shape());
  return OkStatus();
}

Status CandidateSampler(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(int64_t num_true, ctx.Attr<int64_t>("num_true"));
  WEIR_ASSIGN_OR_RETURN(int64_t num_sampled, ctx.Attr<int64_t>("num_sampled"));
  WEIR_ASSIGN_OR_RETURN(PartialShape classes, ctx.WithRank(0, 2));
  int64_t rows = classes.has_rank() ? classes.dim(0) : PartialShape::kUnknown;
  ctx.set_output(0, PartialShape{num_sampled});
  ctx.set_output(1, PartialShape{rows, num_true});
  ctx.set_output(2, PartialShape{num_sampled});
  return OkStatus();
}

Status AccidentalHits(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 2).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
  for (int i = 0; i < 3; ++i) ctx.set_output(i, PartialShape::UnknownOfRank(1));
  return OkStatus();
}

// Each operand is one value (a seed: three) for all, or one for each element of the output.
Status RandomIndexShuffle(ShapeContext& ctx) {
  const PartialShape &index = ctx.input(0), &seed = ctx.input(1), &most = ctx.input(2);
  if (seed.has_rank() &&
      (seed.rank() < 1 || seed.rank() > 2 || (seed.dim(seed.rank() - 1) != 3 && seed.dim(seed.rank() - 1) >= 0))) {
    return InvalidArgument("Seed must have shape [3] or [n, 3] but got ", seed.ToString(), ".");
  }
  PartialShape out;
  bool all_single = true, unclear = false;
  auto merge = [&](const PartialShape& shape, int single_rank, std::string_view name) -> Status {
    unclear |= !shape.has_rank();
    if (!shape.has_rank() || shape.rank() == single_rank) return OkStatus();
    if (shape.rank() != single_rank + 1)
      return InvalidArgument(name, " must be a scalar or vector but got ", shape.ToString());
    all_single = false;
    auto merged = UnifyShapes(out, PartialShape({shape.dim(0)}));
    if (!merged.ok())
      return InvalidArgument(name, " has shape ", shape.ToString(), " but must have ", out.dim(0), " rows.");
    out = *std::move(merged);
    return OkStatus();
  };
  WEIR_RETURN_IF_ERROR(merge(index, 0, "Index"));
  WEIR_RETURN_IF_ERROR(merge(seed, 1, "Seed"));
  WEIR_RETURN_IF_ERROR(merge(most, 0, "Max index"));
  if (!all_single) {
    ctx.set_output(0, std::move(out));
  } else if (!unclear) {
    ctx.set_output(0, Shape());
  }
  return OkStatus();
}

}  // namespace

void RegisterRandomShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("random", RandomShape);
  registry.RegisterShapeFunction("random_samples", RandomSamples);
  registry.RegisterShapeFunction("multinomial", MultinomialShape);
  registry.RegisterShapeFunction("key_counter", KeyCounter);
  registry.RegisterShapeFunction("candidate_sampler", CandidateSampler);
  registry.RegisterShapeFunction("accidental_hits", AccidentalHits);
  registry.RegisterShapeFunction("random_index_shuffle", RandomIndexShuffle);
}

}  // namespace weir
