#include "weir/ops/nn/attention.h"

#include <cmath>

#include "weir/base/strings.h"

namespace weir::nn {

StatusOr<AttentionAttrs> AttentionAttrs::Read(const KernelInit& init) {
  AttentionAttrs attrs;
  WEIR_ASSIGN_OR_RETURN(attrs.is_causal, init.Attr<bool>("causal"));
  WEIR_ASSIGN_OR_RETURN(attrs.scale, init.Attr<float>("scale"));
  return attrs;
}

StatusOr<AttentionSizes> SizesOfAttention(const KernelContext& ctx, const AttentionAttrs& attrs, bool is_gradient) {
  const Shape &q = ctx.input(0).shape(), &k = ctx.input(1).shape(), &v = ctx.input(2).shape();
  if (q.rank() != 4 || k.rank() != 4) {
    return InvalidArgument("query and key must be [batch, time, heads, size], got ", q.ToString(), " and ",
                           k.ToString());
  }
  if (k != v) return InvalidArgument("key and value must have the same shape: ", k.ToString(), " ", v.ToString());
  AttentionSizes sizes{.batch = q.dim(0), .queries = q.dim(1), .keys = k.dim(1), .heads = q.dim(2), .size = q.dim(3)};
  if (k.dim(0) != sizes.batch || k.dim(2) != sizes.heads || k.dim(3) != sizes.size) {
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

}  // namespace weir::nn
