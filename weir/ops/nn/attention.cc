#include "weir/ops/nn/attention.h"

#include <cmath>

#include "weir/base/strings.h"

namespace weir::nn {

StatusOr<AttentionAttrs> AttentionAttrs::Read(const KernelInit& init) {
  AttentionAttrs attrs;
  WEIR_ASSIGN_OR_RETURN(attrs.is_causal, init.Attr<bool>("causal"));
  WEIR_ASSIGN_OR_RETURN(attrs.heads_first, init.Attr<bool>("heads_first"));
  WEIR_ASSIGN_OR_RETURN(attrs.scale, init.Attr<float>("scale"));
  WEIR_ASSIGN_OR_RETURN(attrs.mask_value, init.Attr<float>("mask_value"));
  WEIR_ASSIGN_OR_RETURN(int64_t masks, init.Attr<int64_t>("masks"));
  if (masks > 1) return InvalidArgument("An attention has one mask at most, got ", masks);
  attrs.has_mask = masks == 1;
  return attrs;
}

StatusOr<AttentionSizes> SizesOfAttention(const KernelContext& ctx, const AttentionAttrs& attrs, bool is_gradient) {
  const Shape &q = ctx.input(0).shape(), &k = ctx.input(1).shape(), &v = ctx.input(2).shape();
  if (q.rank() != 4 || k.rank() != 4) {
    return InvalidArgument("query and key must be [batch, ", attrs.heads_first ? "heads, time" : "time, heads",
                           ", size], got ", q.ToString(), " and ", k.ToString());
  }
  if (k != v) return InvalidArgument("key and value must have the same shape: ", k.ToString(), " ", v.ToString());
  const int time = attrs.heads_first ? 2 : 1, head = 3 - time;
  AttentionSizes sizes{.batch = q.dim(0),
                       .queries = q.dim(time),
                       .keys = k.dim(time),
                       .heads = q.dim(head),
                       .size = q.dim(3),
                       .heads_first = attrs.heads_first};
  if (k.dim(0) != sizes.batch || k.dim(head) != sizes.heads || k.dim(3) != sizes.size) {
    return InvalidArgument("query and key must differ in their times alone: ", q.ToString(), " ", k.ToString());
  }
  sizes.scale = attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<float>(std::max<int64_t>(sizes.size, 1)));
  if (!is_gradient) return sizes;
  for (int i : {3, 5}) {
    if (ctx.input(i).shape() == q) continue;
    return InvalidArgument(ctx.node().schema->inputs[i].name, " must have the shape of query ", q.ToString(), ", got ",
                           ctx.input(i).shape().ToString());
  }
  if (ctx.input(4).shape() != sizes.stats()) {
    return InvalidArgument("stats must have shape ", sizes.stats().ToString(), ", got ",
                           ctx.input(4).shape().ToString());
  }
  return sizes;
}

StatusOr<AttentionMask> MaskOfAttention(const KernelContext& ctx, const AttentionAttrs& attrs,
                                        const AttentionSizes& sizes, bool is_gradient) {
  AttentionMask mask;
  if (!attrs.has_mask) return mask;
  mask.tensor = &ctx.input(is_gradient ? 6 : 3);
  const Shape& shape = mask.tensor->shape();
  const int64_t whole[] = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  bool fits = shape.rank() == 4;
  for (int i = 0; fits && i < 4; ++i) fits = shape.dim(i) == 1 || shape.dim(i) == whole[i];
  if (!fits) {
    return InvalidArgument("mask must be [batch, heads, queries, keys] or 1 instead of any, got ", shape.ToString(),
                           " for ", Shape({whole[0], whole[1], whole[2], whole[3]}).ToString());
  }
  int64_t* const steps[] = {&mask.batch, &mask.head, &mask.query, &mask.key};
  int64_t step = 1;
  for (int i = 3; i >= 0; --i) {
    *steps[i] = shape.dim(i) == 1 ? 0 : step;
    step *= shape.dim(i);
  }
  return mask;
}

}  // namespace weir::nn
