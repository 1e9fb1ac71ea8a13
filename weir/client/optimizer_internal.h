// How an update rule is written down.
#ifndef WEIR_CLIENT_OPTIMIZER_INTERNAL_H_
#define WEIR_CLIENT_OPTIMIZER_INTERNAL_H_

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/client/optimizer.h"
#include "weir/framework/attribute.h"

namespace weir {

// What a rule's updates share.
struct RuleState {
  Output learning_rate;
  Variable step;
  std::map<std::string, Variable> powers;  // beta1_power, beta2_power
};

// Most rules are one operation, whose arguments the op's schema names: `var`, the slots, `lr` (or `alpha`), `grad` (or
// `delta`), `indices`, `global_step`, the powers, and numbers.
struct Optimizer::Rule {
  struct Slot {
    std::string argument;
    double initial = 0;
  };
  std::string name;  // of its slots in checkpoints
  LearningRate learning_rate = 0.0;
  std::string op;         // ResourceApply...
  std::string sparse_op;  // ResourceSparseApply...; empty: sparse gradients are made dense
  std::vector<Slot> slots;
  std::map<std::string, double> numbers;
  std::map<std::string, double> powers;  // variables that start as this number and are multiplied by it after each step
  std::map<std::string, bool> flags;     // attributes of `op`
  double weight_decay = 0;               // decoupled
  // Where one operation will not do: the update of one variable.
  std::function<Operation(const Scope& scope, const Rule& rule, const RuleState& state, const Variable& variable,
                          const std::map<std::string, Variable>& slots, const Output& gradient)>
      update;
  // What becomes of the gradients before they are limited and applied: sums over processes, say. May be empty.
  std::function<std::vector<GradientOutput>(const Scope& scope, std::span<const Variable> variables,
                                            std::vector<GradientOutput> gradients)>
      exchange;
};

// One variable's update.
struct RuleUpdate {
  const Optimizer::Rule& rule;
  const RuleState& state;
  Variable variable;
  std::map<std::string, Variable> slots;
};
Operation AddUpdate(const Scope& scope, const RuleUpdate& update, const GradientOutput& gradient);
// What the updates read, and so changes after them: the powers and the count of steps.
std::vector<Operation> AddEndOfStep(const Scope& after, const Optimizer::Rule& rule, const RuleState& state);
// The gradients as the rule exchanges them with others.
std::vector<GradientOutput> ExchangeGradients(const Scope& scope, const Optimizer::Rule& rule,
                                              std::span<const Variable> variables,
                                              std::vector<GradientOutput> gradients);
// The rate of the next step where it is a function of the step.
Output ScheduledRate(const Scope& scope, const Optimizer::Rule& rule, const Variable& step);

}  // namespace weir

#endif  // WEIR_CLIENT_OPTIMIZER_INTERNAL_H_
