// Shapes of neural network operations.
#include "weir/framework/op_registry.h"
#include "weir/ops/nn/window.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

int64_t DimOf(const PartialShape& shape, int i) { return shape.has_rank() ? shape.dim(i) : kUnknown; }

// Where the channels stand in a tensor of `rank`.
int ChannelAxis(const ShapeContext& ctx, int rank) {
  auto format = ctx.Attr<std::string>("data_format");
  return format.ok() && format->starts_with("NC") ? 1 : rank - 1;
}

Status BiasAdd(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape value, ctx.WithRankAtLeast(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape bias, ctx.WithRank(1, 1));
  if (value.has_rank() && bias.has_rank()) {
    int axis = ChannelAxis(ctx, value.rank());
    WEIR_ASSIGN_OR_RETURN(int64_t channels, MergeDims(value.dim(axis), bias.dim(0)));
    value.set_dim(axis, channels);
  }
  ctx.set_output(0, std::move(value));
  return OkStatus();
}

Status BiasAddGrad(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape value, ctx.WithRankAtLeast(0, 2));
  ctx.set_output(0, PartialShape{value.has_rank() ? value.dim(ChannelAxis(ctx, value.rank())) : kUnknown});
  return OkStatus();
}

Status AtLeastVector(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.WithRankAtLeast(0, 1));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status CrossEntropy(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape both, BroadcastShapes(ctx.input(0), ctx.input(1)));
  WEIR_ASSIGN_OR_RETURN(both, WithRank(both, 2));
  ctx.set_output(0, PartialShape{DimOf(both, 0)});
  ctx.set_output(1, std::move(both));
  return OkStatus();
}

Status SparseCrossEntropy(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape logits, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape labels, ctx.WithRank(1, 1));
  WEIR_ASSIGN_OR_RETURN(int64_t batch, MergeDims(DimOf(logits, 0), DimOf(labels, 0)));
  ctx.set_output(0, PartialShape{batch});
  ctx.set_output(1, PartialShape{batch, DimOf(logits, 1)});
  return OkStatus();
}

// Two numbers for each row.
Status CrossEntropyOfRows(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape logits, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape labels, ctx.WithRank(1, 1));
  WEIR_ASSIGN_OR_RETURN(int64_t batch, MergeDims(DimOf(logits, 0), DimOf(labels, 0)));
  for (int i : {0, 1}) ctx.set_output(i, PartialShape{batch});
  return OkStatus();
}

Status InTopK(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape predictions, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape targets, ctx.WithRank(1, 1));
  WEIR_ASSIGN_OR_RETURN(int64_t batch, MergeDims(DimOf(predictions, 0), DimOf(targets, 0)));
  ctx.set_output(0, PartialShape{batch});
  return OkStatus();
}

// All inputs are one image.
Status Image(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, 4));
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    WEIR_ASSIGN_OR_RETURN(image, UnifyShapes(image, ctx.input(i)));
  }
  ctx.set_output(0, std::move(image));
  return OkStatus();
}

StatusOr<int64_t> WindowOutput(const nn::Window2D& window, int dim, int64_t input, int64_t size) {
  if (size < 0 && window.padding == "SAME") size = 1;  // whatever it is, the output is the same
  if (input < 0 || size < 0) return kUnknown;
  WEIR_ASSIGN_OR_RETURN(nn::WindowAxis axis, window.Axis(dim, input, size));
  return axis.output;
}

Status Pool2D(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(nn::Window2D window, nn::ReadWindow2D(ctx, /*is_pool=*/true));
  PartialShape out = image.has_rank() ? image : PartialShape::UnknownOfRank(4);
  for (int dim : {window.height(), window.width()}) {
    WEIR_ASSIGN_OR_RETURN(int64_t size, WindowOutput(window, dim, out.dim(dim), window.ksize[dim]));
    out.set_dim(dim, size);
  }
  const int depth = window.channels();
  WEIR_ASSIGN_OR_RETURN(int64_t channels, WindowOutput(window, depth, out.dim(depth), window.ksize[depth]));
  out.set_dim(depth, channels);
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, out);
  return OkStatus();
}

Status Conv2D(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(PartialShape filter, ctx.WithRank(1, 4));
  WEIR_ASSIGN_OR_RETURN(nn::Window2D window, nn::ReadWindow2D(ctx, /*is_pool=*/false));
  int64_t depth = DimOf(image, window.channels());
  int64_t filter_depth = DimOf(filter, 2);
  if (depth > 0 && filter_depth > 0 && depth % filter_depth != 0) {
    return InvalidArgument("Depth of input (", depth, ") is not a multiple of input depth of filter (", filter_depth,
                           ")");
  }
  PartialShape out = PartialShape::UnknownOfRank(4);
  out.set_dim(0, DimOf(image, 0));
  out.set_dim(window.channels(), DimOf(filter, 3));
  for (int dim : {window.height(), window.width()}) {
    WEIR_ASSIGN_OR_RETURN(int64_t size,
                          WindowOutput(window, dim, DimOf(image, dim), DimOf(filter, dim == window.height() ? 0 : 1)));
    out.set_dim(dim, size);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

Status DepthwiseConv2D(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape image, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(PartialShape filter, ctx.WithRank(1, 4));
  WEIR_ASSIGN_OR_RETURN(nn::Window2D window, nn::ReadWindow2D(ctx, /*is_pool=*/false));
  WEIR_ASSIGN_OR_RETURN(int64_t depth, MergeDims(DimOf(image, window.channels()), DimOf(filter, 2)));
  WEIR_ASSIGN_OR_RETURN(depth, MultiplyDims(depth, DimOf(filter, 3)));
  PartialShape out = PartialShape::UnknownOfRank(4);
  out.set_dim(0, DimOf(image, 0));
  out.set_dim(window.channels(), depth);
  for (int dim : {window.height(), window.width()}) {
    WEIR_ASSIGN_OR_RETURN(int64_t size,
                          WindowOutput(window, dim, DimOf(image, dim), DimOf(filter, dim == window.height() ? 0 : 1)));
    out.set_dim(dim, size);
  }
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

template <int kInput>
Status ShapeFromInput(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape out, ctx.InputAsShape(kInput));
  // Two sizes are height and width alone.
  const auto strides = ctx.Attr<std::vector<int64_t>>("strides");
  const int rank = strides.ok() ? static_cast<int>(strides->size()) : 4;
  ctx.set_output(0, out.has_rank() && out.rank() == rank ? std::move(out) : PartialShape::UnknownOfRank(rank));
  return OkStatus();
}

Status BatchNorm(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape x, ctx.WithRankAtLeast(0, 4));
  int64_t channels = x.has_rank() ? x.dim(ChannelAxis(ctx, x.rank())) : kUnknown;
  for (int i = 1; i < 3; ++i) {
    WEIR_ASSIGN_OR_RETURN(PartialShape vector, ctx.WithRank(i, 1));
    WEIR_ASSIGN_OR_RETURN(channels, MergeDims(channels, DimOf(vector, 0)));
  }
  if (x.has_rank()) x.set_dim(ChannelAxis(ctx, x.rank()), channels);
  ctx.set_output(0, std::move(x));
  for (int i = 1; i < 5; ++i) ctx.set_output(i, PartialShape{channels});
  return OkStatus();
}

Status BatchNormGrad(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape x, UnifyShapes(ctx.input(0), ctx.input(1)));
  WEIR_ASSIGN_OR_RETURN(x, WithRankAtLeast(x, 4));
  WEIR_ASSIGN_OR_RETURN(PartialShape scale, ctx.WithRank(2, 1));
  int64_t channels = DimOf(scale, 0);
  if (x.has_rank()) {
    WEIR_ASSIGN_OR_RETURN(channels, MergeDims(channels, x.dim(ChannelAxis(ctx, x.rank()))));
  }
  ctx.set_output(0, std::move(x));
  ctx.set_output(1, PartialShape{channels});
  ctx.set_output(2, PartialShape{channels});
  ctx.set_output(3, Shape{0});
  ctx.set_output(4, Shape{0});
  return OkStatus();
}

// Queries, keys and values.
Status Attention(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape query, ctx.WithRank(0, 4));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 4).status());
  WEIR_ASSIGN_OR_RETURN(bool heads_first, ctx.Attr<bool>("heads_first"));
  const int time = heads_first ? 2 : 1;
  ctx.set_output(1, PartialShape{DimOf(query, 0), DimOf(query, 3 - time), DimOf(query, time)});
  ctx.set_output(0, std::move(query));
  return OkStatus();
}

Status AttentionGrad(ShapeContext& ctx) {
  for (int i = 0; i < 3; ++i) ctx.set_output(i, ctx.input(i));
  return OkStatus();
}

Status PackedAttention(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape packed, ctx.WithRank(0, 3));
  WEIR_ASSIGN_OR_RETURN(const int64_t heads, ctx.Attr<int64_t>("heads"));
  const int64_t width = DimOf(packed, 2);
  const int64_t size = width < 0 ? -1 : width / (3 * heads);
  ctx.set_output(0, PartialShape{DimOf(packed, 0), DimOf(packed, 1), heads, size});
  ctx.set_output(1, PartialShape{DimOf(packed, 0), heads, DimOf(packed, 1)});
  return OkStatus();
}

}  // namespace

void RegisterNnShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("attention", Attention);
  registry.RegisterShapeFunction("attention_grad", AttentionGrad);
  registry.RegisterShapeFunction("packed_attention", PackedAttention);
  registry.RegisterShapeFunction("bias_add", BiasAdd);
  registry.RegisterShapeFunction("bias_add_grad", BiasAddGrad);
  registry.RegisterShapeFunction("at_least_vector", AtLeastVector);
  registry.RegisterShapeFunction("cross_entropy", CrossEntropy);
  registry.RegisterShapeFunction("sparse_cross_entropy", SparseCrossEntropy);
  registry.RegisterShapeFunction("cross_entropy_of_rows", CrossEntropyOfRows);
  registry.RegisterShapeFunction("in_top_k", InTopK);
  registry.RegisterShapeFunction("image", Image);
  registry.RegisterShapeFunction("pool2d", Pool2D);
  registry.RegisterShapeFunction("conv2d", Conv2D);
  registry.RegisterShapeFunction("depthwise_conv2d", DepthwiseConv2D);
  registry.RegisterShapeFunction("shape_input", ShapeFromInput<0>);
  registry.RegisterShapeFunction("filter_sizes", ShapeFromInput<1>);
  registry.RegisterShapeFunction("batch_norm", BatchNorm);
  registry.RegisterShapeFunction("batch_norm_grad", BatchNormGrad);
}

}  // namespace weir
