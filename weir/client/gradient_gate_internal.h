// The steps between gradients and their updates: loss scaling, and accumulation over several steps.
#ifndef WEIR_CLIENT_GRADIENT_GATE_INTERNAL_H_
#define WEIR_CLIENT_GRADIENT_GATE_INTERNAL_H_

#include <span>
#include <vector>

#include "weir/client/optimizer.h"

namespace weir {

struct GradientGate {
  // The gradients to apply. In steps without an update, these are dead values (runtime/executor.h), and so is
  // everything computed from them: no update runs, nor anything that waits for one.
  std::vector<GradientOutput> gradients;
  std::vector<Operation> always;  // run in every step, in preparation for the next one
};

// Returns the gradients themselves if the options ask for neither.
GradientGate AddGradientGate(const Scope& scope, std::span<const Variable> variables,
                             std::vector<GradientOutput> gradients, const UpdateOptions& options);

}  // namespace weir

#endif  // WEIR_CLIENT_GRADIENT_GATE_INTERNAL_H_
