// The definition of an update rule.
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

// State that the updates of a rule share.
struct RuleState {
  Output learning_rate;
  Variable step;
  std::map<std::string, Variable> powers;  // beta1_power, beta2_power
};

// Most rules are a single operation, whose arguments are named by the op's schema: `var`, the slots, `lr` (or `alpha`),
// `grad` (or `delta`), `indices`, `global_step`, the powers, and numbers.
struct Optimizer::Rule {
  struct Slot {
    std::string argument;
    double initial = 0;
  };
  std::string name;  // of its slots in checkpoints
  LearningRate learning_rate = 0.0;
  std::string op;         // ResourceApply...
  std::string sparse_op;  // ResourceSparseApply...; empty: sparse gradients are converted to dense ones
  std::vector<Slot> slots;
  std::map<std::string, double> numbers;
  // Variables that start with this number and are multiplied by it after each step.
  std::map<std::string, double> powers;
  std::map<std::string, bool> flags;  // attributes of `op`
  double weight_decay = 0;            // decoupled
  // For rules that a single operation cannot express: the update of one variable.
  std::function<Operation(const Scope& scope, const Rule& rule, const RuleState& state, const Variable& variable,
                          const std::map<std::string, Variable>& slots, const Output& gradient)>
      update;
  // Transforms the gradients before they are clipped and applied, for example by summing over processes. May be empty.
  std::function<std::vector<GradientOutput>(const Scope& scope, std::span<const Variable> variables,
                                            std::vector<GradientOutput> gradients)>
      exchange;
};

// The update of one variable.
struct RuleUpdate {
  const Optimizer::Rule& rule;
  const RuleState& state;
  Variable variable;
  std::map<std::string, Variable> slots;
};
Operation AddUpdate(const Scope& scope, const RuleUpdate& update, const GradientOutput& gradient);
// Changes what the updates read, and therefore runs after them: the powers and the step count.
std::vector<Operation> AddEndOfStep(const Scope& after, const Optimizer::Rule& rule, const RuleState& state);
// The gradients after the rule's exchange with other processes.
std::vector<GradientOutput> ExchangeGradients(const Scope& scope, const Optimizer::Rule& rule,
                                              std::span<const Variable> variables,
                                              std::vector<GradientOutput> gradients);
// The rate of the next step, if it depends on the step.
Output ScheduledRate(const Scope& scope, const Optimizer::Rule& rule, const Variable& step);

}  // namespace weir

#endif  // WEIR_CLIENT_OPTIMIZER_INTERNAL_H_
