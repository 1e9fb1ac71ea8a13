// The update rules of optimizer.h.
#include "weir/client/operators.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/optimizer_internal.h"

namespace weir::optimizer {
namespace {

Optimizer Make(Optimizer::Rule rule) { return Optimizer(std::make_shared<const Optimizer::Rule>(std::move(rule))); }

Optimizer::Rule AdamRule(const AdamOptions& options, const char* name) {
  return {.name = name,
          .learning_rate = options.learning_rate,
          .op = "ResourceApplyAdam",
          .slots = {{"m"}, {"v"}},
          .numbers = {{"beta1", options.beta1}, {"beta2", options.beta2}, {"epsilon", options.epsilon}},
          .powers = {{"beta1_power", options.beta1}, {"beta2_power", options.beta2}}};
}

Output Norm(const Scope& scope, const Output& x) { return ops::Sqrt(scope, ops::L2Loss(scope, x) * 2); }

// m and v as Adam's; the step's length follows the variable's norm.
Operation LambUpdate(const Scope& scope, const Optimizer::Rule& rule, const RuleState& state, const Variable& variable,
                     const std::map<std::string, Variable>& slots, const Output& gradient) {
  const double beta1 = rule.numbers.at("beta1"), beta2 = rule.numbers.at("beta2");
  auto typed = [&](const Output& x) {
    return x.dtype() == variable.dtype() ? x : ops::Cast(scope, x, variable.dtype());
  };
  // The variable as the gradient saw it.
  const Output value = variable.value();
  const Variable &m = slots.at("m"), &v = slots.at("v");
  Output new_m = m.value() * beta1 + gradient * (1 - beta1);
  Output new_v = v.value() * beta2 + ops::Square(scope, gradient) * (1 - beta2);
  Output m_hat = new_m / (1 - typed(state.powers.at("beta1_power")));
  Output v_hat = new_v / (1 - typed(state.powers.at("beta2_power")));
  Output direction =
      m_hat / (ops::Sqrt(scope, v_hat) + rule.numbers.at("epsilon")) + value * rule.numbers.at("weight_decay");
  Output length = Norm(scope, value), step = Norm(scope, direction);
  Output one = Constant(scope, 1.0, variable.dtype());
  Output ratio = ops::SelectV2(scope, length > 0, ops::SelectV2(scope, step > 0, length / step, one), one);
  Operation updates[] = {m.Assign(scope, new_m), v.Assign(scope, new_v),
                         variable.AssignSub(scope, typed(state.learning_rate) * ratio * direction)};
  return Group(scope, updates);
}

}  // namespace

Optimizer GradientDescent(const GradientDescentOptions& options) {
  return Make(
      {.name = "GradientDescent", .learning_rate = options.learning_rate, .op = "ResourceApplyGradientDescent"});
}

Optimizer Momentum(const MomentumOptions& options) {
  return Make({.name = "Momentum",
               .learning_rate = options.learning_rate,
               .op = "ResourceApplyMomentum",
               .sparse_op = "ResourceSparseApplyMomentum",
               .slots = {{"accum"}},
               .numbers = {{"momentum", options.momentum}},
               .flags = {{"use_nesterov", options.nesterov}}});
}

Optimizer Adagrad(const AdagradOptions& options) {
  return Make({.name = "Adagrad",
               .learning_rate = options.learning_rate,
               .op = "ResourceApplyAdagrad",
               .sparse_op = "ResourceSparseApplyAdagrad",
               .slots = {{"accum", options.initial_accumulator}}});
}

Optimizer AdagradDA(const AdagradDAOptions& options) {
  return Make({.name = "AdagradDA",
               .learning_rate = options.learning_rate,
               .op = "ResourceApplyAdagradDA",
               .sparse_op = "ResourceSparseApplyAdagradDA",
               .slots = {{"gradient_accumulator"}, {"gradient_squared_accumulator", options.initial_accumulator}},
               .numbers = {{"l1", options.l1}, {"l2", options.l2}}});
}

Optimizer Adadelta(const AdadeltaOptions& options) {
  return Make({.name = "Adadelta",
               .learning_rate = options.learning_rate,
               .op = "ResourceApplyAdadelta",
               .sparse_op = "ResourceSparseApplyAdadelta",
               .slots = {{"accum"}, {"accum_update"}},
               .numbers = {{"rho", options.rho}, {"epsilon", options.epsilon}}});
}

Optimizer RMSProp(const RMSPropOptions& options) {
  Optimizer::Rule rule{
      .name = "RMSProp",
      .learning_rate = options.learning_rate,
      .op = "ResourceApplyRMSProp",
      .sparse_op = "ResourceSparseApplyRMSProp",
      .slots = {{"ms", 1}, {"mom"}},
      .numbers = {{"rho", options.decay}, {"momentum", options.momentum}, {"epsilon", options.epsilon}}};
  if (options.centered) {
    rule.op = "ResourceApplyCenteredRMSProp";
    rule.sparse_op = "ResourceSparseApplyCenteredRMSProp";
    rule.slots = {{"ms", 1}, {"mg"}, {"mom"}};
  }
  return Make(std::move(rule));
}

Optimizer Adam(const AdamOptions& options) { return Make(AdamRule(options, "Adam")); }

Optimizer AdamW(const AdamOptions& options) {
  Optimizer::Rule rule = AdamRule(options, "AdamW");
  rule.weight_decay = options.weight_decay;
  return Make(std::move(rule));
}

Optimizer Adamax(const AdamOptions& options) {
  Optimizer::Rule rule = AdamRule(options, "AdaMax");
  rule.op = "ResourceApplyAdaMax";
  rule.powers.erase("beta2_power");
  return Make(std::move(rule));
}

Optimizer Nadam(const AdamOptions& options) {
  Optimizer::Rule rule = AdamRule(options, "Nadam");
  rule.flags["use_nesterov"] = true;
  return Make(std::move(rule));
}

Optimizer Lamb(const AdamOptions& options) {
  Optimizer::Rule rule = AdamRule(options, "Lamb");
  rule.numbers["weight_decay"] = options.weight_decay;
  rule.update = LambUpdate;
  return Make(std::move(rule));
}

Optimizer Ftrl(const FtrlOptions& options) {
  Optimizer::Rule rule{.name = "Ftrl",
                       .learning_rate = options.learning_rate,
                       .op = "ResourceApplyFtrl",
                       .sparse_op = "ResourceSparseApplyFtrl",
                       .slots = {{"accum", options.initial_accumulator}, {"linear"}},
                       .numbers = {{"l1", options.l1}, {"l2", options.l2}, {"lr_power", options.power}}};
  if (options.l2_shrinkage != 0) {
    rule.op += "V2";
    rule.sparse_op += "V2";
    rule.numbers["l2_shrinkage"] = options.l2_shrinkage;
  }
  return Make(std::move(rule));
}

Optimizer ProximalGradientDescent(const ProximalOptions& options) {
  return Make({.name = "ProximalGradientDescent",
               .learning_rate = options.learning_rate,
               .op = "ResourceApplyProximalGradientDescent",
               .sparse_op = "ResourceSparseApplyProximalGradientDescent",
               .numbers = {{"l1", options.l1}, {"l2", options.l2}}});
}

Optimizer ProximalAdagrad(const ProximalOptions& options) {
  return Make({.name = "ProximalAdagrad",
               .learning_rate = options.learning_rate,
               .op = "ResourceApplyProximalAdagrad",
               .sparse_op = "ResourceSparseApplyProximalAdagrad",
               .slots = {{"accum", options.initial_accumulator}},
               .numbers = {{"l1", options.l1}, {"l2", options.l2}}});
}

}  // namespace weir::optimizer
