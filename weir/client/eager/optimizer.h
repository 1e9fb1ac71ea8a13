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

// A rule with what it keeps between steps. Not thread-safe.
class Optimizer {
 public:
  explicit Optimizer(const weir::Optimizer& rule);

  // One step, which runs as one function of the graph: changes every variable by its gradient; those without one are
  // left alone, INVALID_ARGUMENT if none has one. Inside a function that is traced the step becomes part of it.
  Status Apply(const std::vector<Variable>& variables, const std::vector<EagerGradient>& gradients);
  // Runs the function, and takes a step that makes its scalar result smaller. Returns what it was.
  EagerTensor Minimize(const std::function<EagerTensor()>& loss, const std::vector<Variable>& variables);
  // Makes what the rule keeps for these variables. Apply does it too, but cannot while a function is traced.
  Status Prepare(const std::vector<Variable>& variables);

  const Variable& step() const { return step_; }
  // Holds it where it is no function of the step; may be assigned to.
  const Variable& learning_rate() const { return rate_; }
  // All that the rule keeps; names as in a graph's checkpoints: "w/Adam", "w/Adam_1", "beta1_power", "global_step".
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
  // Adds the step to the function that is traced.
  Status AddStep(const std::vector<Variable>& variables, const std::vector<EagerGradient>& gradients) const;

  weir::Optimizer rule_;
  Variable step_;
  Variable rate_;
  std::map<std::string, Variable> powers_;
  std::map<int64_t, Kept> kept_;  // by the id of the variable's handle
  // Functions of steps, by the variables that have a gradient, and whether it is sparse.
  std::map<std::vector<std::pair<int64_t, bool>>, std::shared_ptr<Traces>> steps_;
};

}  // namespace eager
}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_OPTIMIZER_H_
