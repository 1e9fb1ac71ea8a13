// Pooling, and layers that only change shapes.
#include <algorithm>

#include "weir/client/nn/layer_shapes.h"
#include "weir/client/nn/layers.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/image_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::nn {
namespace {

// The window and strides as the operations take them, [1, ..., 1].
struct Window {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};
Window WindowOf(const Scope& scope, int dimensions, const Sizes& window, const PoolOptions& options) {
  Window out{window.For(dimensions, scope), options.strides.For(dimensions, scope)};
  for (int i = 0; i < dimensions; ++i) {
    if (out.strides[i] == 0) out.strides[i] = out.sizes[i];
  }
  for (std::vector<int64_t>* sizes : {&out.sizes, &out.strides}) {
    if (dimensions == 1) sizes->insert(sizes->begin(), 1);
    sizes->insert(sizes->begin(), 1);
    sizes->push_back(1);
  }
  return out;
}

LayerPtr Pool(int dimensions, bool is_max, const Sizes& window, const PoolOptions& options) {
  const std::string name = Cat(is_max ? "max" : "average", "_pooling", dimensions, "d");
  const std::string type = Cat(is_max ? "MaxPool" : "AveragePool", dimensions, "D");
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        if (!HasRank(scope, inputs[0], dimensions + 2, type)) return inputs[0];
        const Window w = WindowOf(scope, dimensions, window, options);
        const std::string padding = PaddingName(scope, options.padding);
        if (dimensions == 3) {
          return is_max ? ops::MaxPool3D(scope, inputs[0], w.sizes, w.strides, padding)
                        : ops::AvgPool3D(scope, inputs[0], w.sizes, w.strides, padding);
        }
        Output x = dimensions == 1 ? ops::ExpandDims(scope, inputs[0], 1) : inputs[0];
        Output y = is_max ? ops::MaxPool(scope, x, w.sizes, w.strides, padding)
                          : ops::AvgPool(scope, x, w.sizes, w.strides, padding);
        return dimensions == 1 ? ops::Squeeze(scope, y, {.squeeze_dims = {1}}) : y;
      },
      name, type);
}

// The dimensions between batch and channels.
std::vector<int> InnerAxes(const Scope& scope, const Output& x) {
  const int rank = x.shape().rank();
  if (rank < 3)
    scope.Fail(InvalidArgument("global pooling takes three dimensions or more, not ", x.shape().ToString()));
  std::vector<int> axes;
  for (int i = 1; i + 1 < rank; ++i) axes.push_back(i);
  return axes;
}

}  // namespace

LayerPtr MaxPool1D(const Sizes& window, const PoolOptions& options) { return Pool(1, true, window, options); }
LayerPtr MaxPool2D(const Sizes& window, const PoolOptions& options) { return Pool(2, true, window, options); }
LayerPtr MaxPool3D(const Sizes& window, const PoolOptions& options) { return Pool(3, true, window, options); }
LayerPtr AveragePool1D(const Sizes& window, const PoolOptions& options) { return Pool(1, false, window, options); }
LayerPtr AveragePool2D(const Sizes& window, const PoolOptions& options) { return Pool(2, false, window, options); }
LayerPtr AveragePool3D(const Sizes& window, const PoolOptions& options) { return Pool(3, false, window, options); }

LayerPtr GlobalAveragePool() {
  return Function([](Context& context,
                     const Output& x) { return ops::Mean(context.scope(), x, Input(InnerAxes(context.scope(), x))); },
                  "global_average_pooling");
}

LayerPtr GlobalMaxPool() {
  return Function([](Context& context,
                     const Output& x) { return ops::Max(context.scope(), x, Input(InnerAxes(context.scope(), x))); },
                  "global_max_pooling");
}

LayerPtr Flatten() {
  return FunctionOfMany(
      [](Context& context, const std::vector<Output>& x) { return weir::Flatten(context.scope(), x[0]); }, "flatten",
      "Flatten");
}

LayerPtr Reshape(std::vector<int64_t> sizes) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& x) {
        const Scope& scope = context.scope();
        if (std::find(sizes.begin(), sizes.end(), -1) == sizes.end()) {
          std::vector<int64_t> all = sizes;
          all.insert(all.begin(), -1);
          return ops::Reshape(scope, x[0], Input(all));
        }
        Output batch = ops::Reshape(scope, DimSize(scope, x[0], 0), {1});
        Output rest = Constant(scope, Input(sizes), DType::kInt32);
        return ops::Reshape(scope, x[0], ops::ConcatV2(scope, InputList{batch, rest}, 0));
      },
      "reshape", "Reshape");
}

LayerPtr Activate(Activation activation) {
  return Function([=](Context& context, const Output& x) { return activation(context.scope(), x); }, "activation");
}

LayerPtr ZeroPadding2D(const Sizes& padding) {
  return Function(
      [=](Context& context, const Output& x) {
        const std::vector<int64_t> p = padding.For(2, context.scope());
        const std::vector<int32_t> flat = {0,
                                           0,
                                           static_cast<int32_t>(p[0]),
                                           static_cast<int32_t>(p[0]),
                                           static_cast<int32_t>(p[1]),
                                           static_cast<int32_t>(p[1]),
                                           0,
                                           0};
        Tensor sizes = Tensor::FromSpan<int32_t>(flat, Shape({4, 2}));
        return ops::Pad(context.scope(), x, Input(sizes));
      },
      "zero_padding2d");
}

LayerPtr UpSampling2D(int64_t factor) {
  return Function(
      [=](Context& context, const Output& x) {
        const Scope& scope = context.scope();
        if (!HasRank(scope, x, 4, "UpSampling2D")) return x;
        Output size = ops::Pack(scope, InputList{DimSize(scope, x, 1) * factor, DimSize(scope, x, 2) * factor});
        return ops::ResizeNearestNeighbor(scope, x, size);
      },
      "up_sampling2d");
}

LayerPtr Add() {
  return FunctionOfMany([](Context& context, const std::vector<Output>& x) { return ops::AddN(context.scope(), x); },
                        "add", "Add");
}

LayerPtr Concatenate(int64_t axis) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& x) {
        return ops::ConcatV2(context.scope(), x, static_cast<int32_t>(axis));
      },
      "concatenate", "Concatenate");
}

}  // namespace weir::nn
