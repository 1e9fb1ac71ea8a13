// Dense layers and convolutions.
#include "weir/client/nn/layer_shapes.h"
#include "weir/client/nn/layers.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::nn {

int64_t Channels(const Scope& scope, const Output& x, const std::string& layer) {
  const PartialShape shape = x.shape();
  if (shape.has_rank() && shape.rank() > 0 && shape.dim(shape.rank() - 1) >= 0) return shape.dim(shape.rank() - 1);
  scope.Fail(
      InvalidArgument("layer ", layer, " needs an input with a last dimension of known size, not ", shape.ToString()));
  return 1;
}

bool HasRank(const Scope& scope, const Output& x, int rank, const std::string& layer) {
  const PartialShape shape = x.shape();
  if (!scope.ok()) return false;
  if (shape.rank() == rank) return true;
  scope.Fail(InvalidArgument("layer ", layer, " takes a tensor of ", rank, " dimensions, not ", shape.ToString()));
  return false;
}

std::string PaddingName(const Scope& scope, const std::string& padding) {
  if (padding == "valid" || padding == "VALID") return "VALID";
  if (padding != "same" && padding != "SAME") {
    scope.Fail(InvalidArgument("padding must be 'same' or 'valid', not '", padding, "'"));
  }
  return "SAME";
}

std::vector<int64_t> Sizes::For(int dimensions, const Scope& scope) const {
  if (values_.size() == 1) return std::vector<int64_t>(dimensions, values_[0]);
  if (values_.size() != static_cast<size_t>(dimensions)) {
    scope.Fail(InvalidArgument(values_.size(), " sizes are given for ", dimensions, " dimensions"));
    return std::vector<int64_t>(dimensions, 1);
  }
  return values_;
}

namespace {

// A kernel's shape from outside numbers.
Shape KernelShape(const Scope& scope, std::vector<int64_t> window, int64_t in, int64_t out) {
  window.push_back(in);
  window.push_back(out);
  StatusOr<Shape> shape = Shape::Make(window);
  if (shape.ok()) return *shape;
  scope.Fail(shape.status());
  return Shape();
}

// [1, sizes..., 1].
std::vector<int64_t> WithEnds(std::vector<int64_t> sizes) {
  sizes.insert(sizes.begin(), 1);
  sizes.push_back(1);
  return sizes;
}

Output Finish(Context& context, Output x, int64_t channels, const ConvOptions& options) {
  const Scope& scope = context.scope();
  if (options.use_bias) {
    x = ops::BiasAdd(scope, x, context.GetVariable("bias", Shape({channels}), options.bias_initializer));
  }
  return options.activation(scope, x);
}

std::string NameOr(const ConvOptions& options, const char* name) { return options.name.empty() ? name : options.name; }

Output Convolve2D(Context& context, const Output& x, int64_t filters, const std::vector<int64_t>& window,
                  const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations,
                  const ConvOptions& options, const Shape& kernel_shape) {
  const Scope& scope = context.scope();
  Output kernel = context.GetVariable("kernel", kernel_shape, options.kernel_initializer, options.kernel_regularizer);
  if (kernel_shape.rank() == 3) kernel = ops::ExpandDims(scope, kernel, 0);  // of one dimension
  return ops::Conv2D(scope, x, kernel, WithEnds(strides), PaddingName(scope, options.padding),
                     {.dilations = WithEnds(dilations)});
}

}  // namespace

LayerPtr Dense(int64_t units, const DenseOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        const int64_t in = Channels(scope, x, "Dense");
        Variable kernel = context.GetVariable("kernel", KernelShape(scope, {}, in, units), options.kernel_initializer,
                                              options.kernel_regularizer);
        Output flat = x.shape().rank() > 2 ? ops::Reshape(scope, x, {int64_t{-1}, in}) : x;
        Output y = ops::MatMul(scope, flat, kernel.value());
        if (options.use_bias) {
          y = ops::BiasAdd(
              scope, y,
              context.GetVariable("bias", KernelShape(scope, {}, 1, units).Slice(1, 2), options.bias_initializer));
        }
        if (x.shape().rank() > 2) {
          Output before = ops::StridedSlice(scope, ops::Shape(scope, x), Constant(scope, {0}, DType::kInt32),
                                            Constant(scope, {-1}, DType::kInt32), Constant(scope, {1}, DType::kInt32));
          Output last = Constant(scope, {units}, DType::kInt32);
          y = ops::Reshape(scope, y, ops::ConcatV2(scope, InputList{before, last}, 0));
        }
        return options.activation(scope, y);
      },
      options.name, "Dense");
}

LayerPtr Conv1D(int64_t filters, const Sizes& kernel, const ConvOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        if (!HasRank(scope, inputs[0], 3, "Conv1D")) return inputs[0];
        // A row of an image one pixel high.
        Output x = ops::ExpandDims(scope, inputs[0], 1);
        auto widen = [&](const Sizes& sizes) { return std::vector<int64_t>{1, sizes.For(1, scope)[0]}; };
        const Shape shape = KernelShape(scope, kernel.For(1, scope), Channels(scope, x, "Conv1D"), filters);
        Output y = Convolve2D(context, x, filters, kernel.For(1, scope), widen(options.strides),
                              widen(options.dilations), options, shape);
        return Finish(context, ops::Squeeze(scope, y, {.squeeze_dims = {1}}), filters, options);
      },
      NameOr(options, "conv1d"), "Conv1D");
}

LayerPtr Conv2D(int64_t filters, const Sizes& kernel, const ConvOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        if (!HasRank(scope, inputs[0], 4, "Conv2D")) return inputs[0];
        const std::vector<int64_t> window = kernel.For(2, scope);
        const Shape shape = KernelShape(scope, window, Channels(scope, inputs[0], "Conv2D"), filters);
        Output y = Convolve2D(context, inputs[0], filters, window, options.strides.For(2, scope),
                              options.dilations.For(2, scope), options, shape);
        return Finish(context, y, filters, options);
      },
      NameOr(options, "conv2d"), "Conv2D");
}

LayerPtr Conv3D(int64_t filters, const Sizes& kernel, const ConvOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        if (!HasRank(scope, inputs[0], 5, "Conv3D")) return inputs[0];
        const Shape shape = KernelShape(scope, kernel.For(3, scope), Channels(scope, inputs[0], "Conv3D"), filters);
        Variable weights = context.GetVariable("kernel", shape, options.kernel_initializer, options.kernel_regularizer);
        Output y =
            ops::Conv3D(scope, inputs[0], weights.value(), WithEnds(options.strides.For(3, scope)),
                        PaddingName(scope, options.padding), {.dilations = WithEnds(options.dilations.For(3, scope))});
        return Finish(context, y, filters, options);
      },
      NameOr(options, "conv3d"), "Conv3D");
}

LayerPtr DepthwiseConv2D(const Sizes& kernel, int64_t multiplier, const ConvOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        if (!HasRank(scope, inputs[0], 4, "DepthwiseConv2D")) return inputs[0];
        const int64_t channels = Channels(scope, inputs[0], "DepthwiseConv2D");
        Variable weights = context.GetVariable("kernel", KernelShape(scope, kernel.For(2, scope), channels, multiplier),
                                               options.kernel_initializer, options.kernel_regularizer);
        Output y = ops::DepthwiseConv2dNative(
            scope, inputs[0], weights.value(), WithEnds(options.strides.For(2, scope)),
            PaddingName(scope, options.padding), {.dilations = WithEnds(options.dilations.For(2, scope))});
        return Finish(context, y, channels * multiplier, options);
      },
      NameOr(options, "depthwise_conv2d"), "DepthwiseConv2D");
}

LayerPtr Conv2DTranspose(int64_t filters, const Sizes& kernel, const ConvOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        if (!HasRank(scope, x, 4, "Conv2DTranspose")) return x;
        const std::vector<int64_t> window = kernel.For(2, scope), strides = options.strides.For(2, scope);
        const std::string padding = PaddingName(scope, options.padding);
        const Shape shape = KernelShape(scope, window, filters, Channels(scope, x, "Conv2DTranspose"));
        Variable weights = context.GetVariable("kernel", shape, options.kernel_initializer, options.kernel_regularizer);
        std::vector<Input> sizes = {DimSize(scope, x, 0)};
        PartialShape known({-1, -1, -1, filters});
        for (int i = 0; i < 2; ++i) {
          const int64_t size = x.shape().dim(i + 1);
          const int64_t more = padding == "SAME" ? 0 : std::max<int64_t>(window[i] - strides[i], 0);
          if (size >= 0) known.set_dim(i + 1, size * strides[i] + more);
          sizes.push_back(size >= 0 ? Input(static_cast<int32_t>(size * strides[i] + more))
                                    : Input(DimSize(scope, x, i + 1) * strides[i] + more));
        }
        sizes.push_back(Input(static_cast<int32_t>(filters)));
        Output y =
            ops::Conv2DBackpropInput(scope, ops::Pack(scope, sizes), weights.value(), x, WithEnds(strides), padding);
        // The sizes are computed, so the graph does not know what is known here.
        y = ops::EnsureShape(scope, y, known);
        return Finish(context, y, filters, options);
      },
      NameOr(options, "conv2d_transpose"), "Conv2DTranspose");
}

}  // namespace weir::nn
