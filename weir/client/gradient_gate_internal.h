// What stands between gradients and the updates made of them: loss scaling and accumulation over several steps.
#ifndef WEIR_CLIENT_GRADIENT_GATE_INTERNAL_H_
#define WEIR_CLIENT_GRADIENT_GATE_INTERNAL_H_

#include <span>
#include <vector>

#include "weir/client/optimizer.h"

namespace weir {

struct GradientGate {
  // What is to be applied. In steps that are not to update, these are dead values (runtime/executor.h), and so is
  // everything that is made of them: no update runs, and nothing that waits for one.
  std::vector<GradientOutput> gradients;
  std::vector<Operation> always;  // what every step does for the next one
};

// The gradients themselves if the options ask for neither.
GradientGate AddGradientGate(const Scope& scope, std::span<const Variable> variables,
                             std::vector<GradientOutput> gradients, const UpdateOptions& options);

}  // namespace weir

#endif  // WEIR_CLIENT_GRADIENT_GATE_INTERNAL_H_
