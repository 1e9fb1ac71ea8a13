#include "weir/client/schedules.h"

#include <cmath>
#include <numbers>

#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"

namespace weir {

Output LearningRate::operator()(const Scope& scope, const Output& step) const {
  return is_constant() ? Constant(scope, rate_) : function_(scope, step);
}

namespace schedule {

LearningRate Exponential(double rate, double steps, double decay, bool staircase) {
  return LearningRate([=](const Scope& scope, const Output& step) {
    Output power = step / steps;
    if (staircase) power = ops::Floor(scope, power);
    return rate * ops::Pow(scope, decay, power);
  });
}

LearningRate Piecewise(std::vector<int64_t> boundaries, std::vector<double> values) {
  return LearningRate([=](const Scope& scope, const Output& step) {
    if (values.size() != boundaries.size() + 1) {
      scope.Fail(InvalidArgument("a piecewise schedule of ", boundaries.size(),
                                 " boundaries needs one more value than boundaries, not ", values.size()));
      return Output(scope, {});
    }
    Output rate = Constant(scope, values.back());
    for (size_t i = boundaries.size(); i-- > 0;) {
      rate = ops::SelectV2(scope, step <= static_cast<double>(boundaries[i]), Constant(scope, values[i]), rate);
    }
    return rate;
  });
}

LearningRate Polynomial(double rate, double steps, double end, double power) {
  return LearningRate([=](const Scope& scope, const Output& step) {
    Output left = 1 - ops::Minimum(scope, step, steps) / steps;
    return (rate - end) * ops::Pow(scope, left, power) + end;
  });
}

LearningRate InverseTime(double rate, double steps, double decay, bool staircase) {
  return LearningRate([=](const Scope& scope, const Output& step) {
    Output ratio = step / steps;
    if (staircase) ratio = ops::Floor(scope, ratio);
    return rate / (1 + decay * ratio);
  });
}

LearningRate Cosine(double rate, double steps, double alpha, double warmup) {
  return LearningRate([=](const Scope& scope, const Output& step) {
    Output done = ops::Minimum(scope, ops::Maximum(scope, step - warmup, 0), steps) / steps;
    Output wave = 0.5 * (1 + ops::Cos(scope, std::numbers::pi * done));
    Output lowered = rate * ((1 - alpha) * wave + alpha);
    if (warmup <= 0) return lowered;
    return ops::SelectV2(scope, step < warmup, rate / warmup * step, lowered);
  });
}

LearningRate CosineRestarts(double rate, double first_steps, double longer, double lower, double alpha) {
  return LearningRate([=](const Scope& scope, const Output& step) {
    Output done = step / first_steps;
    Output restart, fraction;
    if (longer == 1) {
      restart = ops::Floor(scope, done);
      fraction = done - restart;
    } else {
      restart = ops::Floor(scope, ops::Log(scope, 1 - done * (1 - longer)) / std::log(longer));
      Output grown = ops::Pow(scope, longer, restart);
      fraction = (done - (1 - grown) / (1 - longer)) / grown;
    }
    Output height = ops::Pow(scope, lower, restart);
    Output wave = 0.5 * height * (1 + ops::Cos(scope, std::numbers::pi * fraction));
    return rate * ((1 - alpha) * wave + alpha);
  });
}

}  // namespace schedule

}  // namespace weir
