// Normalisation, dropout and embedding.
#include <numeric>

#include "weir/client/nn/layer_shapes.h"
#include "weir/client/nn/layers.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/ops/random_ops.h"
#include "weir/client/ops/state_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::nn {
namespace {

struct Moments {
  Output mean;
  Output variance;
};
Moments MomentsOf(const Scope& scope, const Output& x, const std::vector<int>& axes) {
  Output mean = ops::Mean(scope, x, Input(axes), {.keep_dims = true});
  Output variance = ops::Mean(scope, ops::SquaredDifference(scope, x, mean), Input(axes), {.keep_dims = true});
  return {mean, variance};
}

// Moves a statistic towards its value in this batch.
void Track(Context& context, const Variable& statistic, const Output& batch, double momentum) {
  context.AddUpdate(statistic.AssignSub(context.scope(), (statistic.value() - batch) * (1 - momentum)));
}

struct BatchNormVariables {
  Output gamma;
  Output beta;
  Variable mean;
  Variable variance;
};

Output FusedBatchNorm(Context& context, const Output& x, const BatchNormVariables& v, const BatchNormOptions& options) {
  const Scope& scope = context.scope();
  const float epsilon = static_cast<float>(options.epsilon);
  if (!context.training()) {
    return ops::FusedBatchNormV3(scope, x, v.gamma, v.beta, v.mean.value(), v.variance.value(),
                                 {.epsilon = epsilon, .is_training = false})
        .y;
  }
  Output none = Constant(scope, Input(Tensor::Vector<float>({})));
  auto out = ops::FusedBatchNormV3(scope, x, v.gamma, v.beta, none, none, {.epsilon = epsilon, .is_training = true});
  Track(context, v.mean, out.batch_mean, options.momentum);
  Track(context, v.variance, out.batch_variance, options.momentum);
  return out.y;
}

Output PlainBatchNorm(Context& context, const Output& x, const BatchNormVariables& v, const BatchNormOptions& options) {
  const Scope& scope = context.scope();
  Output mean = v.mean, variance = v.variance;
  if (context.training()) {
    std::vector<int> axes(x.shape().rank() - 1);
    std::iota(axes.begin(), axes.end(), 0);
    Moments moments = MomentsOf(scope, x, axes);
    mean = ops::Reshape(scope, moments.mean, {-1});
    variance = ops::Reshape(scope, moments.variance, {-1});
    Track(context, v.mean, mean, options.momentum);
    Track(context, v.variance, variance, options.momentum);
  }
  return (x - mean) * ops::Rsqrt(scope, variance + options.epsilon) * v.gamma + v.beta;
}

}  // namespace

LayerPtr BatchNorm(const BatchNormOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        const Shape shape({Channels(scope, x, "BatchNorm")});
        const VariableOptions fixed{.trainable = false};
        BatchNormVariables v;
        v.gamma = options.scale ? Output(context.GetVariable("gamma", shape, init::Ones())) : Fill(scope, shape, 1);
        v.beta = options.center ? Output(context.GetVariable("beta", shape, init::Zeros())) : Fill(scope, shape, 0);
        v.mean = context.GetVariable("moving_mean", shape, init::Zeros(), nullptr, fixed);
        v.variance = context.GetVariable("moving_variance", shape, init::Ones(), nullptr, fixed);
        if (!scope.ok()) return x;
        return x.shape().rank() == 4 ? FusedBatchNorm(context, x, v, options) : PlainBatchNorm(context, x, v, options);
      },
      "batch_normalization", "BatchNorm");
}

LayerPtr LayerNorm(double epsilon) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        const Shape shape({Channels(scope, x, "LayerNorm")});
        Variable gamma = context.GetVariable("gamma", shape, init::Ones());
        Variable beta = context.GetVariable("beta", shape, init::Zeros());
        Moments moments = MomentsOf(scope, x, {-1});
        Output scale = ops::Rsqrt(scope, moments.variance + epsilon) * gamma.value();
        return (x - moments.mean) * scale + beta.value();
      },
      "layer_normalization", "LayerNorm");
}

LayerPtr GroupNorm(int64_t groups, double epsilon) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        const int64_t channels = Channels(scope, x, "GroupNorm");
        if (groups < 1 || channels % groups != 0) {
          scope.Fail(InvalidArgument("GroupNorm cannot divide ", channels, " channels into ", groups, " groups"));
          return x;
        }
        Variable gamma = context.GetVariable("gamma", Shape({channels}), init::Ones());
        Variable beta = context.GetVariable("beta", Shape({channels}), init::Zeros());
        // [batch, places, groups, channels of a group].
        Output size = ops::Shape(scope, x);
        Output parts = ops::Pack(scope, InputList{DimSize(scope, x, 0), -1, static_cast<int32_t>(groups),
                                                  static_cast<int32_t>(channels / groups)});
        Output split = ops::Reshape(scope, x, parts);
        Moments moments = MomentsOf(scope, split, {1, 3});
        Output normal = (split - moments.mean) * ops::Rsqrt(scope, moments.variance + epsilon);
        Output whole = ops::EnsureShape(scope, ops::Reshape(scope, normal, size), x.shape());
        return whole * gamma.value() + beta.value();
      },
      "group_normalization", "GroupNorm");
}

LayerPtr Dropout(double rate, int64_t seed) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        if (rate < 0 || rate >= 1) scope.Fail(InvalidArgument("a dropout rate must be in [0, 1), not ", rate));
        if (!context.training() || rate == 0) return x;
        const RandomSeeds seeds = NextRandomSeeds(scope, seed);
        Output noise =
            ops::RandomUniform(scope, ops::Shape(scope, x), x.dtype(), {.seed = seeds.seed, .seed2 = seeds.seed2});
        Output kept = ops::Cast(scope, noise >= rate, x.dtype());
        return x * (1 / (1 - rate)) * kept;
      },
      "dropout", "Dropout");
}

LayerPtr Embedding(int64_t vocabulary, int64_t size, Initializer initializer) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const int64_t dims[] = {vocabulary, size};
        StatusOr<Shape> shape = Shape::Make(dims);
        if (!shape.ok()) return context.scope().Fail(shape.status()), inputs[0];
        Variable table = context.GetVariable("embeddings", *shape, initializer);
        return table.Gather(context.scope(), inputs[0]);
      },
      "embedding", "Embedding");
}

}  // namespace weir::nn
