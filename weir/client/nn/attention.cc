#include <cmath>

#include "weir/client/nn/layer_shapes.h"
#include "weir/client/nn/layers.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/linalg_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::nn {
namespace {

// x [batch, time, features] times a kernel [features, heads, size], as [batch, heads, time, size].
LayerPtr HeadProjection(const std::string& name, int64_t heads, int64_t size, bool use_bias) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        const int64_t features = Channels(scope, x, "MultiHeadAttention");
        // Fans are those of the flat matrix.
        Initializer flat = [=](const Scope& s, const Shape& shape, DType dtype) {
          Output matrix = init::GlorotUniform()(s, Shape({features, heads * size}), dtype);
          return ops::Reshape(s, matrix, {features, heads, size});
        };
        Variable kernel = context.GetVariable("kernel", Shape({features, heads, size}), flat);
        Output matrix = ops::Reshape(scope, kernel.value(), {features, heads * size});
        Output y = ops::MatMul(scope, ops::Reshape(scope, x, {int64_t{-1}, features}), matrix);
        if (use_bias) {
          Variable bias = context.GetVariable("bias", Shape({heads, size}), init::Zeros());
          y = ops::BiasAdd(scope, y, ops::Reshape(scope, bias.value(), {-1}));
        }
        Output split = ops::Pack(scope, InputList{DimSize(scope, x, 0), DimSize(scope, x, 1),
                                                  static_cast<int32_t>(heads), static_cast<int32_t>(size)});
        return ops::Transpose(scope, ops::Reshape(scope, y, split), {0, 2, 1, 3});
      },
      name);
}

// Minus a great number where a position would see a later one.
Output HideLater(const Scope& scope, const Output& scores, const Output& queries, const Output& keys) {
  Output square = ops::Fill(scope, ops::Pack(scope, InputList{queries, keys}), Constant(scope, 1.0f));
  Output seen =
      ops::MatrixBandPart(scope, square, Constant(scope, -1, DType::kInt64), Constant(scope, 0, DType::kInt64));
  return scores + (seen - 1) * 1e9;
}

// [batch, heads, time, size] times a kernel [heads, size, features], summed over heads: [batch, time, features].
// Its second input is what the features are counted from.
LayerPtr OutputProjection(int64_t heads, int64_t size, bool use_bias) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const int64_t features = Channels(scope, inputs[1], "MultiHeadAttention");
        Output joined = ops::Transpose(scope, inputs[0], {0, 2, 1, 3});
        Output flat = ops::Reshape(scope, joined, {int64_t{-1}, heads * size});
        Initializer initializer = [=](const Scope& s, const Shape& shape, DType dtype) {
          Output matrix = init::GlorotUniform()(s, Shape({heads * size, features}), dtype);
          return ops::Reshape(s, matrix, {heads, size, features});
        };
        Variable kernel = context.GetVariable("kernel", Shape({heads, size, features}), initializer);
        Output y = ops::MatMul(scope, flat, ops::Reshape(scope, kernel.value(), {heads * size, features}));
        if (use_bias) y = ops::BiasAdd(scope, y, context.GetVariable("bias", Shape({features}), init::Zeros()));
        Output shape = ops::Pack(scope, InputList{DimSize(scope, inputs[0], 0), DimSize(scope, inputs[0], 2),
                                                  static_cast<int32_t>(features)});
        return ops::Reshape(scope, y, shape);
      },
      "attention_output");
}

}  // namespace

LayerPtr MultiHeadAttention(int64_t heads, int64_t key_dim, const AttentionOptions& options) {
  const int64_t value_dim = options.value_dim == 0 ? key_dim : options.value_dim;
  LayerPtr query = HeadProjection("query", heads, key_dim, options.use_bias);
  LayerPtr key = HeadProjection("key", heads, key_dim, options.use_bias);
  LayerPtr value = HeadProjection("value", heads, value_dim, options.use_bias);
  LayerPtr output = OutputProjection(heads, value_dim, options.use_bias);
  LayerPtr dropout = Dropout(options.dropout);
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& from = inputs[0];
        const Output& values = inputs.size() > 1 ? inputs[1] : from;
        const Output& keys = inputs.size() > 2 ? inputs[2] : values;
        if (!HasRank(scope, from, 3, "MultiHeadAttention") || !HasRank(scope, values, 3, "MultiHeadAttention")) {
          return from;
        }
        Output q = context(query, from) * (1 / std::sqrt(static_cast<double>(key_dim)));
        Output k = context(key, keys), v = context(value, values);
        Output scores = ops::BatchMatMulV2(scope, q, k, {.adj_y = true});
        if (options.causal) scores = HideLater(scope, scores, DimSize(scope, from, 1), DimSize(scope, values, 1));
        Output weights = ops::Softmax(scope, scores);
        if (options.dropout > 0) weights = context(dropout, weights);
        Output seen = ops::BatchMatMulV2(scope, weights, v);
        return ops::EnsureShape(scope, context(output, {seen, from}), from.shape());
      },
      "multi_head_attention", "MultiHeadAttention");
}

}  // namespace weir::nn
