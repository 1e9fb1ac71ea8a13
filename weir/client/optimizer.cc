#include "weir/client/optimizer.h"

#include "weir/client/gradient_gate_internal.h"
#include "weir/client/op_call.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/optimizer_internal.h"
#include "weir/client/scope_internal.h"

namespace weir {
namespace {

constexpr char kStepKey[] = "global_step";

Output As(const Scope& scope, const Output& value, DType dtype) {
  return value.dtype() == dtype ? value : ops::Cast(scope, value, dtype);
}

// Rows that are named twice become one, the sum: the sparse operations want them so.
GradientOutput JoinRows(const Scope& scope, const GradientOutput& gradient) {
  auto [rows, positions] = ops::Unique(scope, gradient.indices);
  Output count = ops::Squeeze(scope, ops::Shape(scope, rows));
  GradientOutput out = gradient;
  out.values = ops::UnsortedSegmentSum(scope, gradient.values, positions, count);
  out.indices = rows;
  return out;
}

// The value of one argument of the update's operation.
Input Argument(const Scope& scope, const RuleUpdate& update, const GradientOutput& gradient, const std::string& name) {
  const DType dtype = update.variable.dtype();
  if (name == "var") return update.variable.handle();
  if (name == "lr" || name == "alpha") return As(scope, update.state.learning_rate, dtype);
  if (name == "grad" || name == "delta") return gradient.is_sparse() ? gradient.values : gradient.dense;
  if (name == "indices") return gradient.indices;
  if (name == "global_step") return update.state.step.value() + 1;  // counted from 1
  if (auto slot = update.slots.find(name); slot != update.slots.end()) return slot->second.handle();
  if (auto power = update.state.powers.find(name); power != update.state.powers.end()) {
    return As(scope, power->second, dtype);
  }
  if (auto number = update.rule.numbers.find(name); number != update.rule.numbers.end()) return number->second;
  scope.Fail(Internal("no value for argument '", name, "' of an update"));
  return Output();
}

Operation Apply(const Scope& scope, const RuleUpdate& update, GradientOutput gradient) {
  const Optimizer::Rule& rule = update.rule;
  if (gradient.is_sparse() && rule.sparse_op.empty()) gradient = {.dense = gradient.ToDense(scope)};
  if (rule.update) return rule.update(scope, rule, update.state, update.variable, update.slots, gradient.dense);
  if (gradient.is_sparse()) gradient = JoinRows(scope, gradient);
  const std::string& op = gradient.is_sparse() ? rule.sparse_op : rule.op;
  const OpSchema* schema = scope.environment()->ops.Find(op);
  if (schema == nullptr) return scope.Fail(NotFound("no operation ", op)), Operation();
  OpCall call(scope, schema->name.c_str());
  for (const ArgSchema& argument : schema->inputs) call.Add(Argument(scope, update, gradient, argument.name));
  for (const auto& [name, value] : rule.flags) call.Set(name, value);
  return call.Finish();
}

// Slots are named after the rule, the second one with "_1".
std::map<std::string, Variable> MakeSlots(const Scope& scope, const Optimizer::Rule& rule, const Variable& variable) {
  std::map<std::string, Variable> slots;
  const Scope below = scope.WithPrefix(variable.name()).WithoutControlDependencies();
  for (const Optimizer::Rule::Slot& slot : rule.slots) {
    slots.emplace(slot.argument, Variable(below, rule.name, variable.shape(), init::Value(slot.initial),
                                          variable.dtype(), {.trainable = false}));
  }
  return slots;
}

RuleState MakeState(const Scope& scope, const Optimizer::Rule& rule, Training* training) {
  const Scope root = scope.WithPrefix("").WithoutControlDependencies();
  RuleState state;
  state.step = training->step = GlobalStep(scope);
  if (rule.learning_rate.is_constant()) {
    training->rate_variable = Variable(scope, "learning_rate", Shape(), init::Value(rule.learning_rate.rate()),
                                       DType::kFloat, {.trainable = false, .saved = false});
    training->learning_rate = training->rate_variable;
  } else {
    training->learning_rate = ScheduledRate(scope.SubScope("schedule"), rule, state.step);
  }
  state.learning_rate = training->learning_rate;
  for (const auto& [name, start] : rule.powers) {
    state.powers.emplace(name, Variable(root, name, Shape(), init::Value(start), DType::kFloat, {.trainable = false}));
  }
  return state;
}

// Shrinks a variable once its gradient is known; the update comes after.
Operation Decay(const Scope& scope, const RuleUpdate& update, const GradientOutput& gradient) {
  const Scope after = scope.WithControlDependencies({(gradient.is_sparse() ? gradient.values : gradient.dense).op()});
  Output rate = As(after, update.state.learning_rate, update.variable.dtype()) * update.rule.weight_decay;
  return update.variable.AssignSub(after, update.variable.Read(after) * rate);
}

}  // namespace

Operation AddUpdate(const Scope& scope, const RuleUpdate& update, const GradientOutput& gradient) {
  if (update.rule.weight_decay == 0 || update.rule.update) return Apply(scope, update, gradient);
  return Apply(scope.WithControlDependencies({Decay(scope, update, gradient)}), update, gradient);
}

std::vector<Operation> AddEndOfStep(const Scope& after, const Optimizer::Rule& rule, const RuleState& state) {
  std::vector<Operation> out;
  for (const auto& [name, factor] : rule.powers) {
    const Variable& power = state.powers.at(name);
    out.push_back(power.Assign(after, power.value() * factor));
  }
  out.push_back(state.step.AssignAdd(after, 1));
  return out;
}

Output ScheduledRate(const Scope& scope, const Optimizer::Rule& rule, const Variable& step) {
  return rule.learning_rate(scope, ops::Cast(scope, step.value(), DType::kFloat));
}

Variable GlobalStep(const Scope& scope) {
  const Scope root = scope.WithPrefix("").WithoutName().WithoutControlDependencies();
  std::shared_ptr<void>& slot = scope.state()->extras[kStepKey];  // its name: the variable would hold the graph
  if (slot != nullptr) {
    for (const Variable& variable : Variables(root)) {
      if (variable.name() == *static_cast<std::string*>(slot.get())) return variable;
    }
  }
  Variable step(root, "global_step", Shape(), init::Zeros(), DType::kInt64, VariableOptions{.trainable = false});
  slot = std::make_shared<std::string>(step.name());
  return step;
}

std::vector<GradientOutput> Limit(const Scope& scope, std::vector<GradientOutput> gradients,
                                  const GradientLimits& limits) {
  if (limits.value > 0) gradients = ClipByValue(scope, std::move(gradients), limits.value);
  if (limits.norm > 0) gradients = ClipByNorm(scope, std::move(gradients), limits.norm);
  if (limits.global_norm > 0) gradients = ClipByGlobalNorm(scope, std::move(gradients), limits.global_norm);
  return gradients;
}

const std::string& Optimizer::name() const { return rule_->name; }

namespace {

// The updates of the variables, and what follows them.
Training ApplyExchanged(const Scope& scope, const Optimizer::Rule& rule, std::span<const Variable> variables,
                        std::vector<GradientOutput> exchanged, const UpdateOptions& options) {
  GradientGate gate = AddGradientGate(scope.SubScope("gradients"), variables, std::move(exchanged), options);
  const std::vector<GradientOutput> gradients = Limit(scope, std::move(gate.gradients), options.limits);
  Training training;
  const Scope inside = scope.SubScope(rule.name);
  const RuleState state = MakeState(inside, rule, &training);
  std::vector<Operation> updates;
  for (size_t i = 0; i < variables.size() && i < gradients.size(); ++i) {
    if (gradients[i].is_none()) continue;
    const RuleUpdate update{rule, state, variables[i], MakeSlots(inside, rule, variables[i])};
    const Scope here = inside.WithPrefix(Cat(inside.prefix(), "/update_", variables[i].name()));
    updates.push_back(AddUpdate(here, update, gradients[i]));
  }
  if (updates.empty()) scope.Fail(InvalidArgument("none of the variables to be trained has a gradient"));
  std::vector<Operation> last = AddEndOfStep(inside.WithControlDependencies(updates), rule, state);
  last.insert(last.end(), updates.begin(), updates.end());
  last.insert(last.end(), gate.always.begin(), gate.always.end());
  training.op = Group(scope.WithName("train"), last);
  return training;
}

}  // namespace

std::vector<GradientOutput> ExchangeGradients(const Scope& scope, const Optimizer::Rule& rule,
                                              std::span<const Variable> variables,
                                              std::vector<GradientOutput> gradients) {
  return rule.exchange ? rule.exchange(scope, variables, std::move(gradients)) : gradients;
}

Training Optimizer::Minimize(const Scope& scope, const Output& loss, const MinimizeOptions& options) const {
  std::vector<Variable> variables = options.variables;
  if (variables.empty()) variables = TrainableVariables(scope.WithPrefix(""));
  UpdateOptions update{.limits = options.limits, .accumulation_steps = options.accumulation_steps};
  if (options.loss_scale) update.loss_scale = LossScale(scope, *options.loss_scale);
  const Output losses[] = {update.loss_scale.Scale(scope, loss)};
  return ApplyGradients(scope, variables, GradientsOf(scope, losses, variables), update);
}

Training Optimizer::ApplyGradients(const Scope& scope, std::span<const Variable> variables,
                                   std::span<const GradientOutput> gradients, const GradientLimits& limits) const {
  return ApplyGradients(scope, variables, gradients, UpdateOptions{.limits = limits});
}

Training Optimizer::ApplyGradients(const Scope& scope, std::span<const Variable> variables,
                                   std::span<const GradientOutput> gradients, const UpdateOptions& options) const {
  std::vector<GradientOutput> own(gradients.begin(), gradients.end());
  own = ExchangeGradients(scope, *rule_, variables, std::move(own));
  return ApplyExchanged(scope, *rule_, variables, std::move(own), options);
}

}  // namespace weir
