// Shapes of volumes, uneven windows, recurrent cells, CTC, quantised values and spectra.
#include <algorithm>
#include <cmath>

#include "weir/framework/op_registry.h"
#include "weir/ops/nn/window.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

// Windows over one dimension; unknown if the dimension or the size is.
StatusOr<int64_t> Windows(int64_t input, int64_t size, int64_t stride, int64_t dilation, std::string_view padding) {
  if (input >= 0 && size < 0 && padding == "SAME" && stride > 0) return (input + stride - 1) / stride;
  if (input < 0 || size < 0) return kUnknown;
  WEIR_ASSIGN_OR_RETURN(nn::WindowAxis axis, nn::MakeWindowAxis(input, size, stride, dilation, padding, 0, 0));
  return axis.output;
}

// Where the axes of an image or volume are: `first` of them, and the channels.
struct Layout {
  int first = 1, channels = 0;
};
StatusOr<Layout> LayoutOf(const ShapeContext& ctx, int rank) {
  auto format = ctx.Attr<std::string>("data_format");
  if (format.ok() && format->starts_with("NC")) return Layout{2, 1};
  return Layout{1, rank - 1};
}

Status Pool3D(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, 5));
  WEIR_ASSIGN_OR_RETURN(Layout layout, LayoutOf(ctx, 5));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, ctx.Attr<std::vector<int64_t>>("ksize"));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> strides, ctx.Attr<std::vector<int64_t>>("strides"));
  WEIR_ASSIGN_OR_RETURN(std::string padding, ctx.Attr<std::string>("padding"));
  if (sizes.size() != 5) return InvalidArgument("Pool3D ops require the ksize attribute to contain 5 values");
  if (strides.size() != 5) return InvalidArgument("Pool3D ops require the stride attribute to contain 5 values");
  for (int i = layout.first; i < layout.first + 3; ++i) {
    WEIR_ASSIGN_OR_RETURN(int64_t size, Windows(in.dim(i), sizes[i], strides[i], 1, padding));
    in.set_dim(i, size);
  }
  ctx.set_output(0, std::move(in));
  return OkStatus();
}

Status MaxPoolV2(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(Layout layout, LayoutOf(ctx, 4));
  WEIR_ASSIGN_OR_RETURN(std::string padding, ctx.Attr<std::string>("padding"));
  std::optional<std::vector<int64_t>> sizes = ConstantInts(ctx, 1), strides = ConstantInts(ctx, 2);
  for (int i = layout.first; i < layout.first + 2; ++i) {
    int64_t size = kUnknown;
    if (sizes && strides) {
      if (sizes->size() != 4 || strides->size() != 4) {
        return InvalidArgument("Pooling ops require the ksize and strides to contain 4 values");
      }
      WEIR_ASSIGN_OR_RETURN(size, Windows(in.dim(i), (*sizes)[i], (*strides)[i], 1, padding));
    }
    in.set_dim(i, size);
  }
  ctx.set_output(0, std::move(in));
  return OkStatus();
}

// Of convolutions without groups to speak of: spatial axes by windows, channels by the filter.
Status Conv3D(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, 5));
  WEIR_ASSIGN_OR_RETURN(PartialShape filter, ctx.WithRank(1, 5));
  WEIR_ASSIGN_OR_RETURN(Layout layout, LayoutOf(ctx, 5));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> strides, ctx.Attr<std::vector<int64_t>>("strides"));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> dilations, ctx.Attr<std::vector<int64_t>>("dilations"));
  WEIR_ASSIGN_OR_RETURN(std::string padding, ctx.Attr<std::string>("padding"));
  if (strides.size() != 5) return InvalidArgument("Conv3D requires the stride attribute to contain 5 values");
  if (dilations.size() != 5) return InvalidArgument("Conv3D requires the dilation attribute to contain 5 values");
  for (int i = 0; i < 3; ++i) {
    const int axis = layout.first + i;
    WEIR_ASSIGN_OR_RETURN(int64_t size, Windows(in.dim(axis), filter.dim(i), strides[axis], dilations[axis], padding));
    in.set_dim(axis, size);
  }
  in.set_dim(layout.channels, filter.dim(4));
  ctx.set_output(0, std::move(in));
  return OkStatus();
}

Status Dilation2D(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(PartialShape filter, ctx.WithRank(1, 3));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> strides, ctx.Attr<std::vector<int64_t>>("strides"));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> rates, ctx.Attr<std::vector<int64_t>>("rates"));
  WEIR_ASSIGN_OR_RETURN(std::string padding, ctx.Attr<std::string>("padding"));
  if (strides.size() != 4) return InvalidArgument("Dilation2D requires the stride attribute to contain 4 values");
  if (rates.size() != 4) return InvalidArgument("Dilation2D requires the rates attribute to contain 4 values");
  WEIR_ASSIGN_OR_RETURN(int64_t channels, MergeDims(in.dim(3), filter.dim(2)));
  for (int i = 1; i < 3; ++i) {
    WEIR_ASSIGN_OR_RETURN(int64_t size, Windows(in.dim(i), filter.dim(i - 1), strides[i], rates[i], padding));
    in.set_dim(i, size);
  }
  in.set_dim(3, channels);
  ctx.set_output(0, std::move(in));
  return OkStatus();
}

// ExtractImagePatches and ExtractVolumePatches.
Status Patches(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, ctx.Attr<std::vector<int64_t>>("ksizes"));
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> strides, ctx.Attr<std::vector<int64_t>>("strides"));
  auto rates = ctx.Attr<std::vector<int64_t>>("rates");
  WEIR_ASSIGN_OR_RETURN(std::string padding, ctx.Attr<std::string>("padding"));
  const int rank = rates.ok() ? 4 : 5;
  const size_t n = static_cast<size_t>(rank);
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, rank));
  if (sizes.size() != n || strides.size() != n || (rates.ok() && rates->size() != n)) {
    return InvalidArgument(ctx.schema().name, " requires its attributes to contain ", rank, " values");
  }
  int64_t depth = in.dim(rank - 1);
  for (int i = 1; i < rank - 1; ++i) {
    WEIR_ASSIGN_OR_RETURN(int64_t size,
                          Windows(in.dim(i), sizes[i], strides[i], rates.ok() ? (*rates)[i] : 1, padding));
    in.set_dim(i, size);
    WEIR_ASSIGN_OR_RETURN(depth, MultiplyDims(depth, sizes[i]));
  }
  in.set_dim(rank - 1, depth);
  ctx.set_output(0, std::move(in));
  return OkStatus();
}

Status FractionalPool(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, 4));
  WEIR_ASSIGN_OR_RETURN(std::vector<float> ratio, ctx.Attr<std::vector<float>>("pooling_ratio"));
  if (ratio.size() != 4) return InvalidArgument("pooling_ratio field must specify 4 dimensions");
  for (int i = 0; i < 4; ++i) {
    if (ratio[i] < 1) return InvalidArgument("pooling_ratio cannot be smaller than 1, got: ", ratio[i]);
    if (in.dim(i) >= 0) in.set_dim(i, static_cast<int64_t>(std::floor(static_cast<float>(in.dim(i)) / ratio[i])));
  }
  ctx.set_output(0, std::move(in));
  ctx.set_output(1, PartialShape{kUnknown});
  ctx.set_output(2, PartialShape{kUnknown});
  return OkStatus();
}

template <int kInput>
Status LikeInput(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(kInput));
  return OkStatus();
}

// Output i like input i + `first`.
template <int kFirst>
Status LikeInputsFrom(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.input(i + kFirst));
  return OkStatus();
}

// The first output like input 0, the others scalars.
Status WithRange(ShapeContext& ctx) {
  shapes::Scalar(ctx).IgnoreError();
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

Status Quantize(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(WithRange(ctx));
  WEIR_ASSIGN_OR_RETURN(int64_t axis, ctx.Attr<int64_t>("axis"));
  if (axis < 0) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRankAtLeast(0, static_cast<int>(std::min<int64_t>(axis, 253)) + 1));
  const int64_t size = in.has_rank() ? in.dim(static_cast<int>(axis)) : kUnknown;
  // The range of a single slice is a scalar.
  const PartialShape ranges = size == kUnknown || size == 1 ? PartialShape() : PartialShape{size};
  for (int i = 1; i < 3; ++i) ctx.set_output(i, ranges);
  return OkStatus();
}

Status PerChannelGradient(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRankAtLeast(0, 1));
  const int64_t channels = in.has_rank() ? in.dim(in.rank() - 1) : kUnknown;
  ctx.set_output(0, in);
  for (int i = 1; i < 3; ++i) ctx.set_output(i, PartialShape{channels});
  return OkStatus();
}

Status CtcLoss(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, 3));
  WEIR_ASSIGN_OR_RETURN(PartialShape lengths, ctx.WithRank(3, 1));
  WEIR_ASSIGN_OR_RETURN(int64_t batch, MergeDims(in.dim(1), lengths.dim(0)));
  in.set_dim(1, batch);
  ctx.set_output(0, PartialShape{batch});
  ctx.set_output(1, std::move(in));
  return OkStatus();
}

Status CtcDecoder(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRank(0, 3));
  WEIR_ASSIGN_OR_RETURN(PartialShape lengths, ctx.WithRank(1, 1));
  WEIR_ASSIGN_OR_RETURN(int64_t batch, MergeDims(in.dim(1), lengths.dim(0)));
  const int paths = (ctx.num_outputs() - 1) / 3;
  for (int i = 0; i < paths; ++i) {
    ctx.set_output(i, PartialShape{kUnknown, 2});
    ctx.set_output(paths + i, PartialShape{kUnknown});
    ctx.set_output(2 * paths + i, PartialShape{2});
  }
  ctx.set_output(3 * paths, PartialShape{batch, paths});
  return OkStatus();
}

Status LstmCell(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape x, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape state, ctx.WithRank(1, 2));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape{x.dim(0), state.dim(1)});
  return OkStatus();
}

Status LstmCellGrad(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape x, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape state, ctx.WithRank(1, 2));
  WEIR_ASSIGN_OR_RETURN(int64_t gates, MultiplyDims(state.dim(1), 4));
  ctx.set_output(0, PartialShape{x.dim(0), state.dim(1)});
  ctx.set_output(1, PartialShape{x.dim(0), gates});
  for (int i = 2; i < 5; ++i) ctx.set_output(i, PartialShape{state.dim(1)});
  return OkStatus();
}

Status LstmSequence(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape x, ctx.WithRank(1, 3));
  WEIR_ASSIGN_OR_RETURN(PartialShape state, ctx.WithRank(2, 2));
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape{x.dim(0), x.dim(1), state.dim(1)});
  return OkStatus();
}

Status GruCellGrad(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape x, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(PartialShape state, ctx.WithRank(1, 2));
  WEIR_ASSIGN_OR_RETURN(int64_t gates, MultiplyDims(state.dim(1), 2));
  ctx.set_output(0, x);
  ctx.set_output(1, state);
  ctx.set_output(2, PartialShape{x.dim(0), state.dim(1)});
  ctx.set_output(3, PartialShape{x.dim(0), gates});
  return OkStatus();
}

// Without the last dimension, which has more than n elements.
Status NthElement(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRankAtLeast(0, 1));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  if (!in.has_rank()) return OkStatus();
  std::optional<int64_t> n = ctx.InputAsInt(1);
  const int64_t size = in.dim(in.rank() - 1);
  if (n && size >= 0 && size <= *n)
    return InvalidArgument("Input must have last dimension > n = ", *n, " but is ", size);
  ctx.set_output(0, SubShape(in, 0, in.rank() - 1));
  return OkStatus();
}

// TopK: k is an attribute or an input.
Status TopK(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRankAtLeast(0, 1));
  std::optional<int64_t> k;
  if (ctx.num_inputs() > 1) {
    WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
    k = ctx.InputAsInt(1);
  } else {
    WEIR_ASSIGN_OR_RETURN(k, ctx.Attr<int64_t>("k"));
  }
  if (k && *k < 0) return InvalidArgument("Need k >= 0, got ", *k);
  if (!in.has_rank()) return OkStatus();
  const int last = in.rank() - 1;
  if (k && in.dim(last) >= 0 && in.dim(last) < *k) {
    return InvalidArgument("input must have last dimension >= k = ", *k, " but is ", in.dim(last));
  }
  in.set_dim(last, k.value_or(kUnknown));
  ctx.set_output(0, in);
  ctx.set_output(1, std::move(in));
  return OkStatus();
}

// RFFT and IRFFT over the last dimensions, whose lengths are input 1.
Status RealFft(ShapeContext& ctx) {
  const std::string& op = ctx.schema().name;
  const int axes = op.ends_with("2D") ? 2 : op.ends_with("3D") ? 3 : 1;
  WEIR_ASSIGN_OR_RETURN(PartialShape in, ctx.WithRankAtLeast(0, axes));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 1).status());
  if (!in.has_rank()) return OkStatus();
  std::optional<std::vector<int64_t>> lengths = ConstantInts(ctx, 1);
  if (lengths && static_cast<int>(lengths->size()) != axes) {
    return InvalidArgument("fft_length must have shape [", axes, "]");
  }
  for (int i = 0; i < axes; ++i) {
    int64_t size = kUnknown;
    if (lengths) {
      size = (*lengths)[i];
      if (size < 0) return InvalidArgument("fft_length[", i, "] must >= 0, but got: ", size);
      if (i == axes - 1 && op.starts_with("RFFT")) size = size == 0 ? 0 : size / 2 + 1;
    }
    in.set_dim(in.rank() - axes + i, size);
  }
  ctx.set_output(0, std::move(in));
  return OkStatus();
}

Status IsotonicRegression(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(0));
  ctx.set_output(1, ctx.input(0));
  return OkStatus();
}

}  // namespace

void RegisterExtendedNnShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("isotonic_regression", IsotonicRegression);
  registry.RegisterShapeFunction("pool3d", Pool3D);
  registry.RegisterShapeFunction("max_pool_v2", MaxPoolV2);
  registry.RegisterShapeFunction("conv3d", Conv3D);
  registry.RegisterShapeFunction("dilation2d", Dilation2D);
  registry.RegisterShapeFunction("patches", Patches);
  registry.RegisterShapeFunction("fractional_pool", FractionalPool);
  registry.RegisterShapeFunction("like_input_1", LikeInput<1>);
  registry.RegisterShapeFunction("like_inputs_from_1", LikeInputsFrom<1>);
  registry.RegisterShapeFunction("with_range", WithRange);
  registry.RegisterShapeFunction("quantize", Quantize);
  registry.RegisterShapeFunction("per_channel_gradient", PerChannelGradient);
  registry.RegisterShapeFunction("ctc_loss", CtcLoss);
  registry.RegisterShapeFunction("ctc_decoder", CtcDecoder);
  registry.RegisterShapeFunction("lstm_cell", LstmCell);
  registry.RegisterShapeFunction("lstm_cell_grad", LstmCellGrad);
  registry.RegisterShapeFunction("lstm_sequence", LstmSequence);
  registry.RegisterShapeFunction("gru_cell_grad", GruCellGrad);
  registry.RegisterShapeFunction("nth_element", NthElement);
  registry.RegisterShapeFunction("top_k", TopK);
  registry.RegisterShapeFunction("real_fft", RealFft);
}

}  // namespace weir
