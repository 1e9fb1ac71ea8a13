#include "benchmarks/models/training.h"

#include <cmath>

#include "weir/client/gradients.h"

namespace weir::bench {
namespace {

using emit::operator+;
using emit::operator-;
using emit::operator*;

Value MeanOfVector(Net& net, Value x) { return emit::Mean(x, net.Ints({0})); }
Value Scalar(Net& net, float value) { return net.Constant(Tensor::Scalar(value)); }

// A gradient while it is clipped and applied.
struct Slope {
  Value dense, values, indices;
};

// One stateful op without outputs.
class Effects {
 public:
  explicit Effects(Net& net) : net_(net) {}
  void Add(std::string_view op, const std::vector<Value>& inputs, AttrMap attrs, std::vector<NodeId> after = {}) {
    std::vector<Endpoint> endpoints;
    for (Value input : inputs) endpoints.push_back(net_.emitter().ToEndpoint(input));
    if (!net_.emitter().status().ok()) return;
    auto node = net_.emitter().AddNode(op, std::move(endpoints), std::move(attrs), std::move(after));
    if (!node.ok()) return net_.emitter().Fail(node.status());
    nodes_.push_back((*node)->id);
  }
  const std::vector<NodeId>& nodes() const { return nodes_; }

 private:
  Net& net_;
  std::vector<NodeId> nodes_;
};

AttrMap Typed(std::string_view name) {
  AttrMap attrs;
  attrs.Set(name, DType::kFloat);
  return attrs;
}

void ClipByGlobalNorm(Net& net, std::vector<Slope>& slopes, float limit) {
  std::vector<Value> halves;
  for (const Slope& s : slopes) halves.push_back(emit::Unary("L2Loss", s.dense ? s.dense : s.values));
  Value norm = emit::Unary("Sqrt", emit::AddN(halves) * Scalar(net, 2));
  Value factor = emit::Binary("Minimum", Scalar(net, 1), emit::Binary("RealDiv", Scalar(net, limit), norm));
  for (Slope& s : slopes) (s.dense ? s.dense : s.values) = (s.dense ? s.dense : s.values) * factor;
}

// The update of one parameter; `slots` are the optimizer's variables beside it.
void Apply(Net& net, const Optimizer& optimizer, Value variable, const Slope& slope, const std::vector<Value>& slots,
           const std::vector<Value>& powers, Effects& effects) {
  // Scaled slopes: momentum is linear in them, and Adam's steps do not depend on their size.
  const float scale = optimizer.loss_scale;
  Value rate = Scalar(net, optimizer.kind == Optimizer::Kind::kMomentum ? optimizer.rate / scale : optimizer.rate);
  if (slope.values) {
    AttrMap attrs = Typed("dtype");
    attrs.Set("Tindices", slope.indices.dtype());
    effects.Add("ResourceScatterSub", {variable, slope.indices, slope.values * rate}, std::move(attrs));
    return;
  }
  switch (optimizer.kind) {
    case Optimizer::Kind::kDescent:
      return effects.Add("ResourceApplyGradientDescent", {variable, rate, slope.dense}, Typed("T"));
    case Optimizer::Kind::kMomentum:
      return effects.Add("ResourceApplyMomentum", {variable, slots[0], rate, slope.dense, Scalar(net, 0.9f)},
                         Typed("T"));
    case Optimizer::Kind::kAdam:
      return effects.Add("ResourceApplyAdam",
                         {variable, slots[0], slots[1], powers[0], powers[1], rate, Scalar(net, 0.9f),
                          Scalar(net, 0.999f), Scalar(net, 1e-8f * scale), slope.dense},
                         Typed("T"));
  }
}

}  // namespace

Value MeanCrossEntropy(Net& net, Value logits, Value labels) {
  return MeanOfVector(net, net.emitter().Op("SparseSoftmaxCrossEntropyWithLogits", {logits, labels}));
}

// max(x, 0) - x * y + log(1 + exp(-|x|)).
Value MeanLogisticLoss(Net& net, Value logits, Value labels) {
  Value positive = net.Relu(logits);
  Value tail = emit::Unary("Log1p", emit::Unary("Exp", -1.0 * emit::Unary("Abs", logits)));
  return MeanOfVector(net, positive - logits * labels + tail);
}

Value MeanSampledSoftmax(Net& net, Value features, Value labels) {
  constexpr int64_t kClasses = 10'000, kSamples = 512, kWidth = 256;
  GraphEmitter& emitter = net.emitter();
  net.Declare("out/table", {kClasses, kWidth});
  Value table = net.parameters().back().handle;
  net.Declare("out/b", {kClasses});
  Value bias = net.parameters().back().handle;
  Value truth = net.Reshape(emit::Cast(labels, DType::kInt64), {-1, 1});
  Values sampled = emitter.Outputs("LogUniformCandidateSampler", {truth},
                                   {{"num_true", 1},
                                    {"num_sampled", kSamples},
                                    {"unique", true},
                                    {"range_max", kClasses},
                                    {"seed", 1},
                                    {"seed2", 2}});
  auto gather = [&](Value handle, Value ids) {
    return emitter.Op("ResourceGather", {handle, ids}, {{"dtype", DType::kFloat}});
  };
  Value flat = net.Reshape(truth, {-1});
  Value ids = emit::Concat({flat, sampled[0]}, 0);
  Value rows = gather(table, ids), biases = gather(bias, ids);
  const int64_t count = features.shape().dim(0);
  auto part = [&](Value x, int64_t begin, int64_t size, bool is_matrix) {
    return emit::Slice(x, net.Ints(is_matrix ? std::vector<int64_t>{begin, 0} : std::vector<int64_t>{begin}),
                       net.Ints(is_matrix ? std::vector<int64_t>{size, -1} : std::vector<int64_t>{size}));
  };
  Value true_logits = emit::Sum(features * part(rows, 0, count, true), net.Ints({1}));
  true_logits = true_logits + part(biases, 0, count, false);
  true_logits = net.Reshape(true_logits, {-1, 1}) - emit::Unary("Log", sampled[1]);
  Value sampled_logits = emit::MatMul(features, part(rows, count, kSamples, true), false, true);
  sampled_logits = sampled_logits + part(biases, count, kSamples, false) - emit::Unary("Log", sampled[2]);
  Value logits = emit::Concat({true_logits, sampled_logits}, 1);
  return MeanCrossEntropy(net, logits, net.Constant(Tensor::Zeros(DType::kInt32, {count}).value()));
}

StatusOr<std::vector<NodeId>> AddTraining(Net& net, Value loss, const Optimizer& optimizer) {
  GraphEmitter& emitter = net.emitter();
  std::vector<size_t> trained;
  std::vector<Endpoint> xs;
  for (size_t i = 0; i < net.parameters().size(); ++i) {
    if (!net.parameters()[i].is_trained) continue;
    trained.push_back(i);
    xs.push_back(emitter.ToEndpoint(net.parameters()[i].handle));
  }
  WEIR_RETURN_IF_ERROR(emitter.status());
  const bool is_scaled = optimizer.loss_scale != 1;
  const Endpoint ys[] = {emitter.ToEndpoint(is_scaled ? loss * Scalar(net, optimizer.loss_scale) : loss)};
  WEIR_ASSIGN_OR_RETURN(std::vector<GraphGradient> gradients, AddGradients(emitter.graph(), ys, xs));
  std::vector<Slope> slopes;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const GraphGradient& g = gradients[i];
    if (g.is_none()) return Internal("no gradient of ", net.parameters()[trained[i]].name);
    // Only plain descent has updates of single rows.
    if (g.is_sparse() && optimizer.kind == Optimizer::Kind::kDescent) {
      slopes.push_back({{}, emitter.At(g.values), emitter.At(g.indices)});
    } else if (g.is_sparse()) {
      slopes.push_back({emit::Densify(
          GradientValue::Sparse(emitter.At(g.values), emitter.At(g.indices), emitter.At(g.dense_shape)))});
    } else {
      slopes.push_back({emitter.At(g.dense)});
    }
  }
  if (optimizer.clip > 0) ClipByGlobalNorm(net, slopes, optimizer.clip);

  Effects effects(net);
  std::vector<Value> power_handles, powers;
  if (optimizer.kind == Optimizer::Kind::kAdam) {
    for (float beta : {0.9f, 0.999f}) {
      const Parameter& power = net.Variable(Cat("power", beta), Tensor::Scalar(beta), false);
      power_handles.push_back(power.handle);
      powers.push_back(power.value);
    }
  }
  const int num_slots = static_cast<int>(optimizer.kind);
  for (size_t i = 0; i < trained.size(); ++i) {
    const Parameter parameter = net.parameters()[trained[i]];
    std::vector<Value> slots;
    for (int k = 0; k < num_slots; ++k) {
      const Initial zeros = {parameter.rule.shape};
      slots.push_back(net.Variable(Cat(parameter.name, "/slot", k), zeros, false).handle);
    }
    Apply(net, optimizer, parameter.handle, slopes[i], slots, powers, effects);
  }
  const std::vector<NodeId> updates = effects.nodes();
  for (size_t i = 0; i < powers.size(); ++i) {
    Value next = powers[i] * Scalar(net, i == 0 ? 0.9f : 0.999f);
    effects.Add("AssignVariableOp", {power_handles[i], next}, Typed("dtype"), updates);
  }
  WEIR_RETURN_IF_ERROR(emitter.status());
  std::vector<NodeId> nodes = effects.nodes();
  nodes.insert(nodes.end(), net.updates().begin(), net.updates().end());
  return nodes;
}

StatusOr<InitialValues> AddInitialisers(Net& net) {
  GraphEmitter& emitter = net.emitter();
  InitialValues out;
  int64_t seed = 0;
  for (const Parameter& parameter : net.parameters()) {
    if (!parameter.handle) continue;  // a constant
    const Initial& rule = parameter.rule;
    const DType dtype = parameter.initial.has_value() ? parameter.initial.dtype() : DType::kFloat;
    const std::vector<int64_t> dims(rule.shape.dims().begin(), rule.shape.dims().end());
    Value value;
    if (parameter.initial.has_value()) {
      value = emitter.Op("Placeholder", {}, {{"dtype", dtype}, {"shape", rule.shape}});
    } else if (rule.deviation > 0) {
      value = emitter.Op("RandomStandardNormal", {net.Ints(dims)}, {{"dtype", dtype}, {"seed", ++seed}});
      value = value * Scalar(net, rule.deviation);
    } else {
      value = emitter.Op("Fill", {net.Ints(dims), Scalar(net, rule.value)});
    }
    Effects assign(net);
    AttrMap attrs;
    attrs.Set("dtype", dtype);
    assign.Add("AssignVariableOp", {parameter.handle, value}, std::move(attrs));
    WEIR_RETURN_IF_ERROR(emitter.status());
    const NodeId fed = parameter.initial.has_value() ? value.node() : kNoNode;
    out.push_back({fed, assign.nodes()[0], parameter.initial});
  }
  return out;
}

Status Initialise(Session& session, const Graph& graph, const InitialValues& initial) {
  std::vector<Feed> feeds;
  std::vector<std::string> targets;
  for (const auto& [placeholder, assign, value] : initial) {
    if (placeholder != kNoNode) feeds.emplace_back(Cat(graph.node(placeholder)->name, ":0"), value);
    targets.push_back(graph.node(assign)->name);
  }
  return targets.empty() ? OkStatus() : session.Run(feeds, {}, targets, nullptr);
}

}  // namespace weir::bench
