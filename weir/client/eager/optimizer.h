// eager::Optimizer: the update rules of optimizer.h for eager variables.
//
//   eager::Optimizer adam(optimizer::Adam({.learning_rate = 1e-3}));
//   GradientTape tape;
//   EagerTensor loss = ...;
//   WEIR_RETURN_IF_ERROR(adam.Apply({w, b}, tape.SparseGradients({loss}, {w, b})));
#ifndef WEIR_CLIENT_EAGER_OPTIMIZER_H_
#define WEIR_CLIENT_EAGER_OPTIMIZER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/eager/compile.h"
#include "weir/client/optimizer.h"

namespace WEIR_PUBLIC weir {
namespace eager {

// An update rule with its state. Not thread-safe.
class Optimizer {
 public:
  explicit Optimizer(const weir::Optimizer& rule);

  // Performs one step, as a single graph function: updates every variable that has a gradient. INVALID_ARGUMENT if none
  // has one. While a function is traced, the step becomes part of it.
  Status Apply(const std::vector<Variable>& variables, const std::vector<EagerGradient>& gradients);
  // Runs `loss` and performs a step that decreases its scalar result. Returns that result.
  EagerTensor Minimize(const std::function<EagerTensor()>& loss, const std::vector<Variable>& variables);
  // Creates the rule's state for these variables. Apply does so too, but not while a function is traced.
  Status Prepare(const std::vector<Variable>& variables);

  const Variable& step() const { return step_; }
  // The learning rate, if it does not depend on the step; may be assigned to.
  const Variable& learning_rate() const { return rate_; }
  // The state of the rule, with names as in checkpoints of graphs: "w/Adam", "w/Adam_1", "beta1_power", "global_step".
  std::vector<Variable> variables() const;

 private:
  struct Slot {
    std::string argument;
    Variable variable;
  };
  struct Kept {
    Variable variable;
    std::vector<Slot> slots;
  };
  // Adds the step to the function that is being traced.
  Status AddStep(const std::vector<Variable>& variables, const std::vector<EagerGradient>& gradients) const;

  weir::Optimizer rule_;
  Variable step_;
  Variable rate_;
  std::map<std::string, Variable> powers_;
  std::map<int64_t, Kept> kept_;  // by the id of the variable's handle
  // The compiled steps, by the variables that have a gradient and whether it is sparse.
  std::map<std::vector<std::pair<int64_t, bool>>, std::shared_ptr<Traces>> steps_;
};

}  // namespace eager
}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_OPTIMIZER_H_
