// Moving averages of variables, and gradient accumulation over several steps.
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
  // Each average starts with the initial value of its variable.
  MovingAverages(const Scope& scope, std::span<const Variable> variables, double decay);
  // average -= (average - variable) * (1 - decay), for all variables; to be run after each training step.
  const Operation& update() const { return update_; }
  const Variable& Average(const Variable& variable) const { return averages_.at(variable.name()); }
  // For RestoreOptions::names: lets a program that only predicts load the averages into the variables.
  std::map<std::string, std::string> RestoreNames() const;

 private:
  std::map<std::string, Variable> averages_;
  Operation update_;
};

// Training on batches that do not fit into memory: run `accumulate` on each part, then `apply.op`, which applies the
// mean of the gradients since its last run.
struct AccumulatedTraining {
  Operation accumulate;
  Training apply;
};
AccumulatedTraining MinimizeAccumulated(const Scope& scope, const Optimizer& optimizer, const Output& loss,
                                        const MinimizeOptions& options = {});

}  // namespace weir

#endif  // WEIR_CLIENT_AVERAGES_H_
