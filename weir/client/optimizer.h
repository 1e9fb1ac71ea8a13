// Optimizers: update rules as operations of the graph. The state of a rule is kept in variables ("slots") with
// TensorFlow's names, so checkpoints are compatible: `w/Adam`, `w/Adam_1`, `beta1_power` ...
//
//   Training training = optimizer::Adam({.learning_rate = 1e-3}).Minimize(scope, loss);
//   session->RunTargets({training.op}, feeds);
#ifndef WEIR_CLIENT_OPTIMIZER_H_
#define WEIR_CLIENT_OPTIMIZER_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/differentiate.h"
#include "weir/client/loss_scale.h"
#include "weir/client/schedules.h"

namespace WEIR_PUBLIC weir {

// Gradient clipping; 0: none.
struct GradientLimits {
  double value = 0;
  double norm = 0;         // of each gradient
  double global_norm = 0;  // of all gradients together
};

std::vector<GradientOutput> Limit(const Scope& scope, std::vector<GradientOutput> gradients,
                                  const GradientLimits& limits);

struct MinimizeOptions {
  std::vector<Variable> variables;  // empty: all trainable variables of the graph
  GradientLimits limits;
  std::optional<LossScaleOptions> loss_scale;
  int64_t accumulation_steps = 1;  // see UpdateOptions
};

struct UpdateOptions {
  GradientLimits limits;
  LossScale loss_scale;            // for gradients of LossScale::Scale(loss)
  int64_t accumulation_steps = 1;  // the mean of this many steps' gradients is applied, in the last of them
};

// The parts of a training step.
struct Training {
  Operation op;            // updates the variables and counts the step, unless loss scaling or accumulation skips it
  Variable step;           // the graph's `global_step`
  Output learning_rate;    // the rate of the next step
  Variable rate_variable;  // the rate, if it does not depend on the step; may be assigned to
};

// The variable `global_step` (int64) of the graph; created if necessary.
Variable GlobalStep(const Scope& scope);

class Optimizer {
 public:
  struct Rule;
  explicit Optimizer(std::shared_ptr<const Rule> rule) : rule_(std::move(rule)) {}
  const std::string& name() const;
  const Rule& rule() const { return *rule_; }

  Training Minimize(const Scope& scope, const Output& loss, const MinimizeOptions& options = {}) const;
  // Variables without a gradient are not updated; INVALID_ARGUMENT if none has one.
  Training ApplyGradients(const Scope& scope, std::span<const Variable> variables,
                          std::span<const GradientOutput> gradients, const GradientLimits& limits = {}) const;
  Training ApplyGradients(const Scope& scope, std::span<const Variable> variables,
                          std::span<const GradientOutput> gradients, const UpdateOptions& options) const;

 private:
  std::shared_ptr<const Rule> rule_;
};

namespace optimizer {

struct GradientDescentOptions {
  LearningRate learning_rate = 0.01;
};
Optimizer GradientDescent(const GradientDescentOptions& options = {});

struct MomentumOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
};
Optimizer Momentum(const MomentumOptions& options = {});

struct AdagradOptions {
  LearningRate learning_rate = 0.01;
  double initial_accumulator = 0.1;
};
Optimizer Adagrad(const AdagradOptions& options = {});

struct AdagradDAOptions {
  LearningRate learning_rate = 0.01;
  double initial_accumulator = 0.1;
  double l1 = 0;
  double l2 = 0;
};
Optimizer AdagradDA(const AdagradDAOptions& options = {});

struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-8;
};
Optimizer Adadelta(const AdadeltaOptions& options = {});

struct RMSPropOptions {
  LearningRate learning_rate = 0.001;
  double decay = 0.9;
  double momentum = 0;
  double epsilon = 1e-10;
  bool centered = false;
};
Optimizer RMSProp(const RMSPropOptions& options = {});

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // for AdamW and Lamb
};
Optimizer Adam(const AdamOptions& options = {});
// Adam with decoupled weight decay: variables shrink by learning_rate * weight_decay per step.
Optimizer AdamW(const AdamOptions& options = {.weight_decay = 0.004});
Optimizer Adamax(const AdamOptions& options = {});
// Adam with Nesterov momentum.
Optimizer Nadam(const AdamOptions& options = {});
// Adam's direction, scaled to the norm of each variable.
Optimizer Lamb(const AdamOptions& options = {.epsilon = 1e-6, .weight_decay = 0.01});

struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double power = -0.5;
  double initial_accumulator = 0.1;
  double l1 = 0;
  double l2 = 0;
  double l2_shrinkage = 0;
};
Optimizer Ftrl(const FtrlOptions& options = {});

struct ProximalOptions {
  LearningRate learning_rate = 0.01;
  double l1 = 0;
  double l2 = 0;
  double initial_accumulator = 0.1;  // for ProximalAdagrad
};
Optimizer ProximalGradientDescent(const ProximalOptions& options = {});
Optimizer ProximalAdagrad(const ProximalOptions& options = {});

}  // namespace optimizer

}  // namespace weir

#endif  // WEIR_CLIENT_OPTIMIZER_H_
