#include "weir/client/eager/optimizer.h"

#include "weir/client/eager/ops/array_ops.h"
#include "weir/client/optimizer_internal.h"
#include "weir/client/scope_internal.h"

namespace weir::eager {
namespace {

Variable Keep(double value, const weir::Shape& shape, DType dtype, std::string name) {
  const std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  return Variable(Input(BroadcastTo(Constant(value, dtype), Tensor::Vector<int64_t>(sizes))),
                  {.name = std::move(name), .trainable = false});
}

// A tensor of the function that is traced.
Output Traced(const Scope& scope, const EagerTensor& tensor) {
  if (tensor.is_traced()) return tensor.traced();
  const Output captured = scope.state()->Import(tensor);
  return captured.has_value() ? captured : weir::Constant(scope, Input(tensor));
}

weir::Variable Traced(const Scope& scope, const Variable& variable) {
  return weir::Variable::FromHandle(scope, variable.name(), Traced(scope, variable.handle()), variable.shape(),
                                    variable.dtype());
}

GradientOutput Traced(const Scope& scope, const EagerGradient& gradient) {
  if (!gradient.is_sparse()) return {.dense = Traced(scope, gradient.dense)};
  return {.values = Traced(scope, gradient.values),
          .indices = Traced(scope, gradient.indices),
          .dense_shape = Traced(scope, gradient.dense_shape)};
}

// Gradients as the arguments of a function, and back.
std::vector<EagerTensor> Flatten(const std::vector<EagerGradient>& gradients) {
  std::vector<EagerTensor> out;
  for (const EagerGradient& gradient : gradients) {
    if (gradient.is_sparse()) {
      out.insert(out.end(), {gradient.values, gradient.indices, gradient.dense_shape});
    } else {
      out.push_back(gradient.dense);
    }
  }
  return out;
}

std::vector<EagerGradient> Unflatten(const std::vector<EagerTensor>& tensors, const std::vector<EagerGradient>& like) {
  std::vector<EagerGradient> out;
  size_t next = 0;
  for (const EagerGradient& gradient : like) {
    if (gradient.is_sparse()) {
      out.push_back({.values = tensors[next], .indices = tensors[next + 1], .dense_shape = tensors[next + 2]});
      next += 3;
    } else {
      out.push_back({.dense = tensors[next++]});
    }
  }
  return out;
}

}  // namespace

Optimizer::Optimizer(const weir::Optimizer& rule) : rule_(rule) {
  const weir::Optimizer::Rule& r = rule_.rule();
  step_ = Keep(0, {}, DType::kInt64, "global_step");
  if (r.learning_rate.is_constant()) rate_ = Keep(r.learning_rate.rate(), {}, DType::kFloat, "learning_rate");
  for (const auto& [name, start] : r.powers) powers_.emplace(name, Keep(start, {}, DType::kFloat, name));
}

Status Optimizer::Prepare(const std::vector<Variable>& variables) {
  WEIR_RETURN_IF_ERROR(step_.status());
  for (const Variable& variable : variables) {
    WEIR_RETURN_IF_ERROR(variable.status());
    auto [kept, fresh] = kept_.try_emplace(variable.handle().id(), Kept{.variable = variable});
    if (!fresh) continue;
    int count = 0;
    for (const auto& slot : rule_.rule().slots) {
      const std::string name = Cat(variable.name(), "/", rule_.name(), count == 0 ? "" : Cat("_", count));
      ++count;
      kept->second.slots.push_back({slot.argument, Keep(slot.initial, variable.shape(), variable.dtype(), name)});
      if (Status made = kept->second.slots.back().variable.status(); !made.ok()) {
        kept_.erase(kept);
        return made;
      }
    }
  }
  return OkStatus();
}

Status Optimizer::AddStep(const std::vector<Variable>& variables, const std::vector<EagerGradient>& gradients) const {
  const weir::Optimizer::Rule& rule = rule_.rule();
  const Scope scope = TraceScope().SubScope(rule.name);
  RuleState state;
  state.step = Traced(scope, step_);
  state.learning_rate =
      rate_.has_value() ? Traced(scope, rate_).value() : ScheduledRate(scope.SubScope("schedule"), rule, state.step);
  for (const auto& [name, power] : powers_) state.powers.emplace(name, Traced(scope, power));
  std::vector<weir::Variable> traced;
  std::vector<GradientOutput> exchanged;
  for (size_t i = 0; i < variables.size(); ++i) {
    traced.push_back(Traced(scope, variables[i]));
    exchanged.push_back(Traced(scope, gradients[i]));
  }
  exchanged = ExchangeGradients(scope, rule, traced, std::move(exchanged));
  std::vector<Operation> updates;
  for (size_t i = 0; i < variables.size(); ++i) {
    RuleUpdate update{rule, state, traced[i], {}};
    for (const Slot& slot : kept_.at(variables[i].handle().id()).slots) {
      update.slots.emplace(slot.argument, Traced(scope, slot.variable));
    }
    updates.push_back(AddUpdate(scope, update, exchanged[i]));
  }
  AddEndOfStep(scope.WithControlDependencies(updates), rule, state);
  return scope.status();
}

Status Optimizer::Apply(const std::vector<Variable>& variables, const std::vector<EagerGradient>& gradients) {
  if (variables.size() != gradients.size()) {
    return InvalidArgument(gradients.size(), " gradients are given for ", variables.size(), " variables");
  }
  std::vector<Variable> changed;
  std::vector<EagerGradient> changes;
  std::vector<std::pair<int64_t, bool>> key;
  for (size_t i = 0; i < variables.size(); ++i) {
    WEIR_RETURN_IF_ERROR(variables[i].status());
    WEIR_RETURN_IF_ERROR(gradients[i].dense.status());
    if (gradients[i].is_none()) continue;
    changed.push_back(variables[i]);
    changes.push_back(gradients[i]);
    key.emplace_back(variables[i].handle().id(), gradients[i].is_sparse());
  }
  if (changed.empty()) return InvalidArgument("none of the variables to be trained has a gradient");
  WEIR_RETURN_IF_ERROR(Prepare(changed));
  if (IsTracing()) return AddStep(changed, changes);
  std::shared_ptr<Traces>& step = steps_[key];
  if (step == nullptr) step = std::make_shared<Traces>(Cat(rule_.name(), "_step"));
  Status traced;
  auto body = [&](const std::vector<EagerTensor>& arguments) {
    traced = AddStep(changed, Unflatten(arguments, changes));
    return std::vector<EagerTensor>{arguments[0]};  // something to ask for errors
  };
  const std::vector<EagerTensor> done = step->Call(Flatten(changes), body);
  WEIR_RETURN_IF_ERROR(traced);
  return done[0].status();
}

EagerTensor Optimizer::Minimize(const std::function<EagerTensor()>& loss, const std::vector<Variable>& variables) {
  GradientTape tape;
  const EagerTensor value = loss();
  tape.Stop();
  std::vector<GradientSource> sources(variables.begin(), variables.end());
  const Status applied = Apply(variables, tape.SparseGradients({value}, sources));
  return applied.ok() ? value : EagerTensor::Error(applied);
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> out = {step_};
  for (const auto& [name, power] : powers_) out.push_back(power);
  for (const auto& [id, kept] : kept_) {
    for (const Slot& slot : kept.slots) out.push_back(slot.variable);
  }
  return out;
}

}  // namespace weir::eager
