#include "weir/client/averages.h"

#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"

namespace weir {

MovingAverages::MovingAverages(const Scope& scope, std::span<const Variable> variables, double decay) {
  const Scope inside = scope.SubScope("moving_averages");
  std::vector<Operation> updates;
  for (const Variable& variable : variables) {
    // The variable is given its first value by its initialiser; the average takes it from there.
    const Node* assign = scope.graph().node(variable.initializer().node_id());
    Initializer same = [&](const Scope& s, const Shape&, DType) {
      return assign != nullptr ? Output(s, assign->inputs[1]) : Output(s, {});
    };
    Variable average(scope.WithPrefix(variable.name()), "ExponentialMovingAverage", variable.shape(), same,
                     variable.dtype(), {.trainable = false});
    const Scope here = inside.WithoutName();
    updates.push_back(average.AssignSub(here, (average.Read(here) - variable.Read(here)) * (1 - decay)));
    averages_.emplace(variable.name(), average);
  }
  update_ = Group(inside.WithName("update"), updates);
}

std::map<std::string, std::string> MovingAverages::RestoreNames() const {
  std::map<std::string, std::string> names;
  for (const auto& [name, average] : averages_) names[name] = average.name();
  return names;
}

AccumulatedTraining MinimizeAccumulated(const Scope& scope, const Optimizer& optimizer, const Output& loss,
                                        const MinimizeOptions& options) {
  AccumulatedTraining out;
  std::vector<Variable> variables = options.variables;
  if (variables.empty()) variables = TrainableVariables(scope.WithPrefix(""));
  const Scope inside = scope.SubScope("accumulate");
  const Output losses[] = {loss};
  std::vector<GradientOutput> gradients = GradientsOf(scope, losses, variables);
  const VariableOptions temporary{.trainable = false, .saved = false};
  Variable count(inside, "count", Shape(), init::Zeros(), DType::kFloat, temporary);
  std::vector<Operation> adds = {count.AssignAdd(inside, 1)};
  std::vector<GradientOutput> means(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].is_none()) continue;
    const Variable& variable = variables[i];
    Variable sum(inside, variable.name(), variable.shape(), init::Zeros(), variable.dtype(), temporary);
    adds.push_back(sum.AssignAdd(inside, gradients[i].ToDense(inside)));
    Output parts = ops::Maximum(inside, count.value(), 1);
    if (variable.dtype() != DType::kFloat) parts = ops::Cast(inside, parts, variable.dtype());
    means[i].dense = sum.value() / parts;
  }
  out.accumulate = Group(inside, adds);
  out.apply = optimizer.ApplyGradients(scope, variables, Limit(scope, std::move(means), options.limits));
  // Once the step is made, everything begins anew.
  const Scope after = inside.WithControlDependencies({out.apply.op});
  std::vector<Operation> last = {out.apply.op};
  for (const Variable& variable : Variables(inside)) {
    last.push_back(variable.Assign(after, Fill(inside, variable.shape(), 0, variable.dtype())));
  }
  out.apply.op = Group(scope.WithName("train_accumulated"), last);
  return out;
}

}  // namespace weir
