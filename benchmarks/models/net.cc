#include "benchmarks/models/net.h"

#include <cmath>
#include <numbers>

#include "weir/passes/recompute_options.h"

namespace weir::bench {
namespace {

using emit::operator+;
using emit::operator-;
using emit::operator*;

Tensor Filled(const Shape& shape, float value) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (float& x : out.span<float>()) x = value;
  return out;
}

Initial RuleFor(std::string_view name, const Shape& shape) {
  const std::string_view kind = name.substr(name.rfind('/') + 1);
  if (kind == "table") return {shape, 0.02f};
  if (kind == "w" || kind == "wx" || kind == "wh") {
    const double fan_in = static_cast<double>(shape.num_elements() / shape.dim(shape.rank() - 1));
    return {shape, static_cast<float>(std::sqrt(2 / fan_in))};
  }
  return {shape, 0, kind == "scale" || kind == "var" ? 1.0f : 0.0f};
}

Tensor Follow(const Initial& rule, NumpyRandom& random) {
  return rule.deviation > 0 ? NormalTensor(rule.shape, rule.deviation, random) : Filled(rule.shape, rule.value);
}

int64_t LastDim(Value x) { return x.shape().dim(x.rank() - 1); }

}  // namespace

Tensor NormalTensor(const Shape& shape, float deviation, NumpyRandom& random) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (float& x : out.span<float>()) x = random.Normal() * deviation;
  return out;
}

Tensor UniformInts(const Shape& shape, int64_t limit, NumpyRandom& random, DType dtype) {
  Tensor out = Tensor::Zeros(dtype, shape).value();
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int32_t x = random.Below(static_cast<uint32_t>(limit));
    if (dtype == DType::kInt64) {
      out.data<int64_t>()[i] = x;
    } else {
      out.data<int32_t>()[i] = x;
    }
  }
  return out;
}

AttrList IntList(std::vector<int64_t> values) {
  AttrList list;
  list.i = std::move(values);
  return list;
}

Parameter& Net::Variable(const std::string& name, Tensor initial, bool is_trained) {
  Parameter& parameter = Variable(name, Initial{initial.shape()}, is_trained, initial.dtype());
  parameter.initial = std::move(initial);
  return parameter;
}

Parameter& Net::Variable(const std::string& name, const Initial& rule, bool is_trained) {
  if (target_ == Target::kHost) return Variable(name, Follow(rule, random_), is_trained);
  return Variable(name, rule, is_trained, DType::kFloat);
}

Parameter& Net::Variable(const std::string& name, const Initial& rule, bool is_trained, DType dtype) {
  Parameter parameter{name, rule, {}, {}, {}, is_trained};
  parameter.handle = emitter_.Op("VarHandleOp", {}, {{"dtype", dtype}, {"shape", rule.shape}, {"shared_name", name}});
  parameter.value = emitter_.Op("ReadVariableOp", {parameter.handle}, {{"dtype", dtype}});
  parameters_.push_back(std::move(parameter));
  return parameters_.back();
}

void Net::Reserve(const std::string& name, std::vector<int64_t> dims) {
  if (target_ != Target::kHost) return;
  reserved_.emplace_back(name, Follow(RuleFor(name, Shape::Make(dims).value()), random_));
}

Value Net::Declare(const std::string& name, std::vector<int64_t> dims) {
  const bool is_trained = !name.ends_with("/mean") && !name.ends_with("/var");
  const Initial rule = RuleFor(name, Shape::Make(dims).value());
  if (is_training_ && target_ != Target::kHost) return Variable(name, rule, is_trained).value;
  Tensor initial;
  for (const auto& [reserved, value] : reserved_) {
    if (reserved == name) initial = value;
  }
  if (!initial.has_value()) initial = Follow(rule, random_);
  if (is_training_) return Variable(name, std::move(initial), is_trained).value;
  parameters_.push_back({name, rule, initial, {}, Constant(initial), is_trained});
  return parameters_.back().value;
}

Value Net::Conv(const std::string& name, Value x, int64_t size, int64_t out, int64_t stride, int64_t pad,
                bool has_bias) {
  Value w = Declare(name + "/w", {size, size, LastDim(x), out});
  const AttrList strides = IntList({1, stride, stride, 1});
  Value y;
  if (stride == 1 && (pad < 0 || pad == size / 2)) {
    y = emitter_.Op("Conv2D", {x, w}, {{"strides", strides}, {"padding", "SAME"}});
  } else if (pad == 0) {
    y = emitter_.Op("Conv2D", {x, w}, {{"strides", strides}, {"padding", "VALID"}});
  } else {
    if (pad < 0) pad = size / 2;
    y = emitter_.Op("Conv2D", {x, w},
                    {{"strides", strides},
                     {"padding", "EXPLICIT"},
                     {"explicit_paddings", IntList({0, 0, pad, pad, pad, pad, 0, 0})}});
  }
  return has_bias ? emitter_.Op("BiasAdd", {y, Declare(name + "/b", {out})}) : y;
}

Value Net::ConvStrip(const std::string& name, Value x, int64_t height, int64_t width, int64_t out) {
  Value w = Declare(name + "/w", {height, width, LastDim(x), out});
  return emitter_.Op("Conv2D", {x, w}, {{"strides", IntList({1, 1, 1, 1})}, {"padding", "SAME"}});
}

Value Net::Dense(const std::string& name, Value x, int64_t out, bool has_bias) {
  const PartialShape shape = x.shape();
  const int64_t in = LastDim(x);
  Value y = emit::MatMul(x.rank() > 2 ? Reshape(x, {-1, in}) : x, Declare(name + "/w", {in, out}));
  if (has_bias) y = emitter_.Op("BiasAdd", {y, Declare(name + "/b", {out})});
  if (shape.rank() <= 2) return y;
  std::vector<int64_t> dims;
  for (int i = 0; i + 1 < shape.rank(); ++i) dims.push_back(shape.dim(i));
  dims.push_back(out);
  return Reshape(y, std::move(dims));
}

Value Net::BatchNorm(const std::string& name, Value x, float epsilon) {
  const int64_t channels = LastDim(x);
  Value scale = Declare(name + "/scale", {channels}), offset = Declare(name + "/offset", {channels});
  Value mean = Declare(name + "/mean", {channels});
  const size_t mean_at = parameters_.size() - 1;
  Value variance = Declare(name + "/var", {channels});
  if (!is_training_) {
    return emitter_.Op("FusedBatchNormV3", {x, scale, offset, mean, variance},
                       {{"epsilon", epsilon}, {"is_training", false}});
  }
  if (target_ == Target::kGpu) {  // no further operations for the moving averages
    Values out = emitter_.Outputs("FusedBatchNormV3", {x, scale, offset, mean, variance},
                                  {{"epsilon", epsilon}, {"exponential_avg_factor", 0.1f}, {"is_training", true}});
    for (size_t i = 0; i < 2; ++i) Effect("AssignVariableOp", parameters_[mean_at + i].handle, out[1 + i]);
    return out[0];
  }
  Value none = Constant(Tensor::Zeros(DType::kFloat, {0}).value());
  Values out = emitter_.Outputs("FusedBatchNormV3", {x, scale, offset, none, none},
                                {{"epsilon", epsilon}, {"is_training", true}});
  for (size_t i = 0; i < 2; ++i) {
    const Parameter& old = parameters_[mean_at + i];
    Effect("AssignSubVariableOp", old.handle, (old.value - out[1 + i]) * Constant(Tensor::Scalar(0.01f)));
  }
  return out[0];
}

void Net::MarkBlock(NodeId begin) {
  for (NodeId id = begin; id < emitter_.graph().num_node_ids(); ++id) {
    if (Node* node = emitter_.graph().node(id)) node->attrs.Set(kRecomputeHint, int64_t{begin});
  }
}

void Net::Effect(std::string_view op, Value variable, Value value) {
  AttrMap attrs;
  attrs.Set("dtype", value.dtype());
  const std::vector<Endpoint> inputs = {emitter_.ToEndpoint(variable), emitter_.ToEndpoint(value)};
  if (!emitter_.status().ok()) return;
  auto update = emitter_.AddNode(op, inputs, std::move(attrs));
  if (!update.ok()) return emitter_.Fail(update.status());
  updates_.push_back((*update)->id);
}

Value Net::LayerNorm(const std::string& name, Value x) {
  const int64_t width = LastDim(x);
  Value scale = Declare(name + "/scale", {width}), offset = Declare(name + "/offset", {width});
  Value last = Ints({-1});
  Value mean = emit::Mean(x, last, true);
  Value variance = emit::Mean(emit::Binary("SquaredDifference", x, mean), last, true);
  Value inverse = emit::Unary("Rsqrt", variance + Constant(Tensor::Scalar(1e-5f)));
  return (x - mean) * (inverse * scale) + offset;
}

Value Net::Embed(const std::string& name, Value ids, int64_t rows, int64_t width) {
  if (!is_training_) return emit::Gather(Declare(name + "/table", {rows, width}), ids);
  Declare(name + "/table", {rows, width});
  return emitter_.Op("ResourceGather", {parameters_.back().handle, ids}, {{"dtype", DType::kFloat}});
}

Value Net::Lstm(const std::string& name, Value x, int64_t units) {
  return emit::Pack(LstmSteps(name, emit::Transpose(x, {1, 0, 2}), units), 1);
}

std::vector<Value> Net::LstmSteps(const std::string& name, Value x, int64_t units) {
  const int64_t steps = x.shape().dim(0), batch = x.shape().dim(1), in = x.shape().dim(2);
  Value wx = Declare(name + "/wx", {in, 4 * units}), wh = Declare(name + "/wh", {units, 4 * units});
  Value bias = Declare(name + "/b", {4 * units});
  // What the inputs contribute to all steps, in one product.
  Value by_step = Reshape(x, {steps * batch, in});
  Value projected = emitter_.Op("BiasAdd", {emit::MatMul(by_step, wx), bias});
  projected = Reshape(projected, {steps, batch, 4 * units});
  Values inputs = emitter_.Outputs("Unpack", {projected}, {{"num", steps}, {"axis", 0}});
  Value h = Constant(Filled({batch, units}, 0)), c = h;
  std::vector<Value> outputs;
  auto sigmoid = [](Value v) { return emit::Unary("Sigmoid", v); };
  auto tanh = [](Value v) { return emit::Unary("Tanh", v); };
  for (Value xt : inputs) {
    Value gates = emit::MatMul(h, wh) + xt;
    Values g = emitter_.Outputs("Split", {Constant(Tensor::Scalar<int32_t>(1)), gates}, {{"num_split", 4}});
    c = sigmoid(g[1]) * c + sigmoid(g[0]) * tanh(g[2]);
    h = sigmoid(g[3]) * tanh(c);
    outputs.push_back(h);
  }
  return outputs;
}

Value Net::LstmBySteps(const std::string& name, Value x, int64_t units) {
  if (target_ == Target::kHost) return emit::Pack(LstmSteps(name, x, units), 0);
  const int64_t batch = x.shape().dim(1), in = x.shape().dim(2);
  // Four gates, each with a matrix for the input and one for the state, and two biases.
  const float deviation = 0.5f / std::sqrt(static_cast<float>(units));
  Value weights = Variable(name + "/weights", Initial{{4 * units * (in + units + 2)}, deviation}, true).value;
  Value none = Constant(Filled({1, batch, units}, 0));
  return emitter_.Op("CudnnRNN", {x, none, none, weights}, {{"is_training", is_training_}});
}

Value Net::CausalAttention(Value x, int64_t heads) {
  const int64_t batch = x.shape().dim(0), steps = x.shape().dim(1), width = x.shape().dim(2) / 3;
  if (target_ == Target::kGpu) {
    Values parts = emitter_.Outputs("Split", {Constant(Tensor::Scalar<int32_t>(2)), x}, {{"num_split", 3}});
    auto heads_of = [&](int i) { return Reshape(parts[i], {batch, steps, heads, width / heads}); };
    Values mixed =
        emitter_.Outputs("_Attention", {heads_of(0), heads_of(1), heads_of(2), Values()}, {{"causal", true}});
    return Reshape(mixed[0], {batch, steps, width});
  }
  Value split = emit::Transpose(Reshape(x, {batch, steps, 3, heads, width / heads}), {2, 0, 3, 1, 4});
  Values qkv = emitter_.Outputs("Unpack", {split}, {{"num", 3}, {"axis", 0}});
  Tensor mask = Filled({steps, steps}, 0);
  for (int64_t i = 0; i < steps; ++i) {
    for (int64_t j = i + 1; j < steps; ++j) mask.data<float>()[i * steps + j] = -1e9f;
  }
  const float factor = 1 / std::sqrt(static_cast<float>(width / heads));
  Value scores = emit::BatchMatMul(qkv[0], qkv[1], false, true) * Constant(Tensor::Scalar(factor)) + Constant(mask);
  Value mixed = emit::BatchMatMul(emit::Unary("Softmax", scores), qkv[2]);
  return Reshape(emit::Transpose(mixed, {0, 2, 1, 3}), {batch, steps, width});
}

Value Net::MaxPool(Value x, int64_t size, int64_t stride, int64_t pad) {
  if (pad > 0 && target_ == Target::kGpu) {
    return emitter_.Op("MaxPool", {x},
                       {{"ksize", IntList({1, size, size, 1})},
                        {"strides", IntList({1, stride, stride, 1})},
                        {"padding", "EXPLICIT"},
                        {"explicit_paddings", IntList({0, 0, pad, pad, pad, pad, 0, 0})}});
  }
  if (pad > 0) {  // after a ReLU zero is as good as nothing
    const int32_t edge = static_cast<int32_t>(pad), rows[] = {0, 0, edge, edge, edge, edge, 0, 0};
    x = emitter_.Op("Pad", {x, Constant(Tensor::FromSpan<int32_t>(rows, {4, 2}))});
  }
  return Pool("MaxPool", x, size, stride, "VALID");
}

Value Net::MaxPoolSame(Value x, int64_t size, int64_t stride) { return Pool("MaxPool", x, size, stride, "SAME"); }
Value Net::AveragePoolSame(Value x, int64_t size) { return Pool("AvgPool", x, size, 1, "SAME"); }

Value Net::Pool(const char* op, Value x, int64_t size, int64_t stride, const char* padding) {
  return emitter_.Op(
      op, {x},
      {{"ksize", IntList({1, size, size, 1})}, {"strides", IntList({1, stride, stride, 1})}, {"padding", padding}});
}

// By the hyperbolic tangent.
Value Net::Gelu(Value x) {
  auto scalar = [this](float v) { return Constant(Tensor::Scalar(v)); };
  Value cube = target_ == Target::kGpu ? x * x * x : emit::Binary("Pow", x, scalar(3));
  Value inner = scalar(std::sqrt(2 / std::numbers::pi_v<float>)) * (x + scalar(0.044715f) * cube);
  return scalar(0.5f) * x * (scalar(1) + emit::Unary("Tanh", inner));
}

Value Net::Dropout(Value x, float rate) {
  if (!is_training_) return x;
  Value random = emitter_.Op("RandomUniform", {emit::Shape(x)}, {{"dtype", DType::kFloat}, {"seed", 7}});
  Value kept = emit::Binary("GreaterEqual", random, Constant(Tensor::Scalar(rate)));
  Value scaled = x * Constant(Tensor::Scalar(1 / (1 - rate)));
  return emit::Select(kept, scaled, Constant(Tensor::Scalar(0.0f)));
}

Value Net::Flatten(Value x) {
  int64_t size = 1;
  for (int i = 1; i < x.rank(); ++i) size *= x.shape().dim(i);
  return Reshape(x, {-1, size});
}

}  // namespace weir::bench
