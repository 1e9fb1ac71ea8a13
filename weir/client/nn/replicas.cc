#include "weir/client/nn/replicas.h"

#include "weir/client/collective_ops.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"

namespace weir::nn {
namespace {

Output Number(const Scope& scope, int32_t value) { return Constant(scope, Tensor::Scalar(value)); }

// Rows of a batch for one of several replicas. A replica without rows computes with one, which counts for nothing.
struct Rows {
  Output begin, count;  // int32 scalars
  Output weight;        // its share of the batch, float

  Rows(const Scope& scope, const Output& batch, int replica, int replicas) {
    const Output all = ops::Squeeze(scope, ops::Slice(scope, ops::Shape(scope, batch), {0}, {1}));
    const Output n = Number(scope, replicas);
    const Output first = ops::FloorDiv(scope, all * Number(scope, replica), n);
    const Output own = ops::FloorDiv(scope, all * Number(scope, replica + 1), n) - first;
    begin = ops::Maximum(scope, ops::Minimum(scope, first, all - Number(scope, 1)), Number(scope, 0));
    count = ops::Minimum(scope, ops::Maximum(scope, own, Number(scope, 1)), all);
    weight = ops::DivNoNan(scope, ops::Cast(scope, own, DType::kFloat), ops::Cast(scope, all, DType::kFloat));
  }
  Output Of(const Scope& scope, const Output& batch) const {
    const Output range = begin + ops::Range(scope, Number(scope, 0), count, Number(scope, 1));
    return ops::GatherV2(scope, batch, range, 0);
  }
};

}  // namespace

struct Replicas::Part {
  Scope scope;
  std::shared_ptr<NetworkState> state;
  Output weight;  // without a value: the only replica
  Output loss;
  std::vector<Output> metrics;
  std::vector<Operation> updates;
  std::vector<Variable> variables;  // that are trained
  std::vector<GradientOutput> gradients;
};

Replicas::Part Replicas::BuildPart(int replica, const LayerPtr& network, const std::vector<Output>& inputs,
                                   const Output& labels, const CompileOptions& options) {
  const int replicas = strategy_.num_local_replicas();
  Part part{.scope = root_.SubScope(replicas == 1 ? std::string("train") : Cat("train_", replica)), .state = state_};
  if (!strategy_.devices.empty()) part.scope = part.scope.WithDevice(strategy_.devices[replica]);
  if (strategy_.mirrors && replica > 0) {
    part.state = std::make_shared<NetworkState>(NetworkState{.root = part.scope, .is_copy = true});
  }
  std::vector<Output> own_inputs = inputs;
  Output own_labels = labels;
  if (replicas > 1) {
    const Rows rows(part.scope, inputs[0], replica, replicas);
    for (Output& input : own_inputs) input = rows.Of(part.scope, input);
    own_labels = rows.Of(part.scope, labels);
    part.weight = rows.weight;
  }
  Context context(part.state, part.scope, /*training=*/true);
  const Output predictions = context(network, own_inputs);
  part.loss = options.loss(part.scope, own_labels, predictions);
  for (const Output& term : context.losses()) part.loss = part.loss + term;
  for (const Metric& metric : options.metrics) {
    Output sums = metric.sums(part.scope, own_labels, predictions);
    // One row too many counts for nothing.
    if (part.weight.has_value()) {
      const Output counts = ops::Cast(part.scope, ops::Sign(part.scope, part.weight), sums.dtype());
      sums = ops::MulNoNan(part.scope, sums, counts);
    }
    part.metrics.push_back(sums);
  }
  part.updates = context.updates();
  if (replica == 0 || !strategy_.mirrors) {
    part.variables = TrainableVariables(root_);
  } else {
    for (const Variable& variable : TrainableVariables(root_)) {
      auto found = part.state->variables.find(variable.name());
      if (found != part.state->variables.end()) part.variables.push_back(found->second);
    }
  }
  const Output losses[] = {loss_scale_.Scale(part.scope, part.loss)};
  part.gradients = GradientsOf(part.scope, losses, part.variables);
  return part;
}

// The weighted sum of the replicas' gradients. Rows of embeddings stay rows.
std::vector<GradientOutput> Replicas::Add(const Scope& scope, const std::vector<Part>& parts, size_t num_variables) {
  std::vector<GradientOutput> sums(num_variables);
  for (size_t v = 0; v < num_variables; ++v) {
    std::vector<Output> dense, values, indices;
    Output shape;
    for (const Part& part : parts) {
      const GradientOutput& gradient = part.gradients[v];
      if (gradient.is_none()) continue;
      const Output& raw = gradient.is_sparse() ? gradient.values : gradient.dense;
      const Output weighted = ops::MulNoNan(part.scope, raw, ops::Cast(part.scope, part.weight, raw.dtype()));
      if (gradient.is_sparse()) {
        values.push_back(weighted);
        indices.push_back(gradient.indices);
        shape = gradient.dense_shape;
      } else {
        dense.push_back(weighted);
      }
    }
    if (!dense.empty()) sums[v].dense = ops::AddN(scope, dense);
    if (!values.empty()) {
      sums[v] = {
          .values = ops::ConcatV2(scope, values, 0), .indices = ops::ConcatV2(scope, indices, 0), .dense_shape = shape};
    }
  }
  return sums;
}

// After an update the copies get the first replica's values; variables that are not trained, the replicas' mean.
void Replicas::Mirror(const std::vector<Part>& parts, Result* result) {
  const Scope after_update = root_.WithControlDependencies({result->training.op});
  std::vector<Operation> all_updates = result->updates, mirrored, now;
  const Scope after_all = root_.WithControlDependencies(all_updates);
  for (const auto& [name, variable] : state_->variables) {
    std::vector<Variable> copies;
    for (size_t i = 1; i < parts.size(); ++i) {
      auto found = parts[i].state->variables.find(name);
      if (found != parts[i].state->variables.end()) copies.push_back(found->second);
    }
    if (copies.empty()) continue;
    Output value;
    if (variable.trainable()) {
      value = variable.Read(after_update);
    } else {
      std::vector<Output> each = {variable.Read(after_all)};
      for (const Variable& copy : copies) each.push_back(copy.Read(after_all));
      value = each[0];
      if (IsFloating(variable.dtype())) {
        const Output count = ops::Cast(root_, Number(root_, static_cast<int32_t>(each.size())), variable.dtype());
        value = ops::AddN(root_, each) / count;
        mirrored.push_back(variable.Assign(root_, value));
      }
    }
    for (const Variable& copy : copies) {
      mirrored.push_back(copy.Assign(root_, value));
      now.push_back(copy.Assign(root_, variable.Read(root_)));
    }
  }
  result->updates.insert(result->updates.end(), mirrored.begin(), mirrored.end());
  mirror_ = Group(root_.WithName("mirror_variables"), now);
}

Replicas::Result Replicas::Build(const LayerPtr& network, const std::vector<Output>& inputs, const Output& labels,
                                 const CompileOptions& options) {
  if (options.precision == "float16") loss_scale_ = LossScale(root_, options.loss_scale);
  std::vector<Part> parts;
  for (int i = 0; i < strategy_.num_local_replicas(); ++i) {
    parts.push_back(BuildPart(i, network, inputs, labels, options));
  }
  const Part& first = parts[0];
  Result result;
  result.loss = first.loss;
  result.metrics = first.metrics;
  std::vector<GradientOutput> gradients = first.gradients;
  if (parts.size() > 1) {
    std::vector<Output> losses;
    for (const Part& part : parts) losses.push_back(ops::MulNoNan(part.scope, part.loss, part.weight));
    result.loss = ops::AddN(first.scope, losses);
    for (size_t m = 0; m < result.metrics.size(); ++m) {
      std::vector<Output> sums;
      for (const Part& part : parts) sums.push_back(part.metrics[m]);
      result.metrics[m] = ops::AddN(first.scope, sums);
    }
    gradients = Add(first.scope, parts, first.variables.size());
  }
  for (const Part& part : parts) result.updates.insert(result.updates.end(), part.updates.begin(), part.updates.end());
  Optimizer optimizer = options.optimizer;
  if (strategy_.across_ranks) {
    optimizer = collective::DistributedOptimizer(optimizer);
    result.loss = collective::AllReduce(first.scope, result.loss, {}, "strategy/loss");
    for (size_t m = 0; m < result.metrics.size(); ++m) {
      result.metrics[m] = collective::AllReduce(first.scope, result.metrics[m], {.op = collective::ReduceOp::kSum},
                                                Cat("strategy/metric_", m));
    }
  }
  result.training = optimizer.ApplyGradients(root_, first.variables, gradients,
                                             UpdateOptions{.limits = options.limits,
                                                           .loss_scale = loss_scale_,
                                                           .accumulation_steps = options.gradient_accumulation_steps});
  if (strategy_.mirrors && parts.size() > 1) Mirror(parts, &result);
  return result;
}

}  // namespace weir::nn
