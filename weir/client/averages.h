// What goes on beside the gradient step: averages of variables, and gradients gathered over several steps.
#ifndef WEIR_CLIENT_AVERAGES_H_
#define WEIR_CLIENT_AVERAGES_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/optimizer.h"

namespace WEIR_PUBLIC weir {

// Moving averages of variables, kept in variables `<name>/ExponentialMovingAverage`.
class MovingAverages {
 public:
  // Each begins with the variable's own first value.
  MovingAverages(const Scope& scope, std::span<const Variable> variables, double decay);
  // average -= (average - variable) * (1 - decay), for all; to run after each training step.
  const Operation& update() const { return update_; }
  const Variable& Average(const Variable& variable) const { return averages_.at(variable.name()); }
  // For RestoreOptions::names: a program that only predicts loads the averages into the variables.
  std::map<std::string, std::string> RestoreNames() const;

 private:
  std::map<std::string, Variable> averages_;
  Operation update_;
};

// Training on batches that do not fit at once: run `accumulate` on each part, then `apply.op`, which takes the mean of
// the gradients since the last time.
struct AccumulatedTraining {
  Operation accumulate;
  Training apply;
};
AccumulatedTraining MinimizeAccumulated(const Scope& scope, const Optimizer& optimizer, const Output& loss,
                                        const MinimizeOptions& options = {});

}  // namespace weir

#endif  // WEIR_CLIENT_AVERAGES_H_
