// Learning rates: constant, or a function of the step.
#ifndef WEIR_CLIENT_SCHEDULES_H_
#define WEIR_CLIENT_SCHEDULES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/scope.h"

namespace WEIR_PUBLIC weir {

// Computes the rate from the number of steps done (a float scalar).
class LearningRate {
 public:
  using Function = std::function<Output(const Scope& scope, const Output& step)>;
  LearningRate(double rate) : rate_(rate) {}
  LearningRate(Function function) : function_(std::move(function)) {}

  bool is_constant() const { return function_ == nullptr; }
  double rate() const { return rate_; }  // REQUIRES: is_constant()
  Output operator()(const Scope& scope, const Output& step) const;

 private:
  double rate_ = 0;
  Function function_;
};

namespace schedule {

// rate * decay^(step / steps); `staircase`: whole steps only.
LearningRate Exponential(double rate, double steps, double decay, bool staircase = false);
// values[i] up to step boundaries[i], then the last value. REQUIRES: one more value than boundaries.
LearningRate Piecewise(std::vector<int64_t> boundaries, std::vector<double> values);
// Decays from `rate` to `end` in `steps` steps, polynomially with exponent `power`.
LearningRate Polynomial(double rate, double steps, double end = 0.0001, double power = 1);
// rate / (1 + decay * step / steps).
LearningRate InverseTime(double rate, double steps, double decay, bool staircase = false);
// Rises linearly for `warmup` steps, then follows half a cosine wave down to alpha * rate.
LearningRate Cosine(double rate, double steps, double alpha = 0, double warmup = 0);
// Cosine waves that restart, each `longer` times longer and `lower` times as high as the one before.
LearningRate CosineRestarts(double rate, double first_steps, double longer = 2, double lower = 1, double alpha = 0);

}  // namespace schedule

}  // namespace weir

#endif  // WEIR_CLIENT_SCHEDULES_H_
