#include "weir/client/loss_scale.h"

#include "weir/client/gradient_gate_internal.h"
#include "weir/client/op_call.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"

namespace weir {
namespace {

Output Number(const Scope& scope, double value) { return Constant(scope, Tensor::Scalar(static_cast<float>(value))); }
Output Integer(const Scope& scope, int64_t value) { return Constant(scope, Tensor::Scalar(value)); }

Output& Elements(GradientOutput& gradient) { return gradient.is_sparse() ? gradient.values : gradient.dense; }

// Sums of gradients in variables: each step's is divided by the number of steps and added, the last step's also taken
// out. Returns whether this is the last.
Output Accumulate(const Scope& scope, std::span<const Variable> variables, int64_t steps, GradientGate* gate) {
  const Scope root = scope.WithPrefix("").WithoutControlDependencies();
  Variable count(root, "gradient_accumulation/count", Shape(), init::Zeros(), DType::kInt64, {.trainable = false});
  Output next = count.value() + Integer(scope, 1);
  Output is_last = ops::GreaterEqual(scope, next, Integer(scope, steps));
  gate->always.push_back(count.Assign(scope, ops::SelectV2(scope, is_last, Integer(scope, 0), next)));
  for (size_t i = 0; i < gate->gradients.size(); ++i) {
    GradientOutput& gradient = gate->gradients[i];
    if (gradient.is_none()) continue;
    const Variable& variable = variables[i];
    Variable sum(root, Cat("gradient_accumulation/", variable.name()), variable.shape(), init::Zeros(),
                 variable.dtype(), {.trainable = false});
    Output share =
        gradient.ToDense(scope) * ops::Cast(scope, Number(scope, 1.0 / static_cast<double>(steps)), variable.dtype());
    Output total = sum.value() + share;
    gate->always.push_back(sum.Assign(scope, ops::SelectV2(scope, is_last, ops::ZerosLike(scope, total), total)));
    gradient = {.dense = total};
  }
  return is_last;
}

// Takes the scale out of the gradients and changes it for the next update. Returns whether they are finite. `is_last`
// may be without a value: each step updates.
Output Unscale(const Scope& scope, const LossScale& scale, const Output& is_last, GradientGate* gate) {
  Output finite;
  for (GradientOutput& gradient : gate->gradients) {
    if (gradient.is_none()) continue;
    Output& elements = Elements(gradient);
    Output flat = ops::Reshape(scope, ops::IsFinite(scope, elements), {-1});
    Output all = ops::All(scope, flat, {0});
    finite = finite.has_value() ? ops::LogicalAnd(scope, finite, all) : all;
    elements = elements / ops::Cast(scope, scale.scale().value(), elements.dtype());
  }
  if (!finite.has_value()) return finite;
  const Output old = scale.scale().value(), good = scale.good_steps().value() + Integer(scope, 1);
  Output grows = ops::LogicalAnd(scope, ops::GreaterEqual(scope, good, Integer(scope, scale.growth_interval())),
                                 ops::IsFinite(scope, old * Number(scope, 2)));
  Output ends = ops::GreaterEqual(scope, good, Integer(scope, scale.growth_interval()));
  Output grown = ops::SelectV2(scope, grows, old * Number(scope, 2), old);
  Output shrunk = ops::Maximum(scope, old * Number(scope, 0.5), Number(scope, 1));
  Output next = ops::SelectV2(scope, finite, grown, shrunk);
  Output next_good =
      ops::SelectV2(scope, ops::LogicalAnd(scope, finite, ops::LogicalNot(scope, ends)), good, Integer(scope, 0));
  if (is_last.has_value()) {
    next = ops::SelectV2(scope, is_last, next, old);
    next_good = ops::SelectV2(scope, is_last, next_good, scale.good_steps().value());
  }
  gate->always.push_back(scale.scale().Assign(scope, next));
  gate->always.push_back(scale.good_steps().Assign(scope, next_good));
  return finite;
}

}  // namespace

LossScale::LossScale(const Scope& scope, const LossScaleOptions& options) : growth_interval_(options.growth_interval) {
  if (options.initial < 1 || options.growth_interval < 1) {
    scope.Fail(InvalidArgument("a loss scale must start at 1 or more and grow after 1 step or more, not start at ",
                               options.initial, " and grow after ", options.growth_interval));
  }
  const Scope root = scope.WithPrefix("").WithoutControlDependencies();
  scale_ =
      Variable(root, "current_loss_scale", Shape(), init::Value(options.initial), DType::kFloat, {.trainable = false});
  good_steps_ = Variable(root, "good_steps", Shape(), init::Zeros(), DType::kInt64, {.trainable = false});
}

Output LossScale::Scale(const Scope& scope, const Output& loss) const {
  return has_value() ? loss * ops::Cast(scope, scale_.value(), loss.dtype()) : loss;
}

GradientGate AddGradientGate(const Scope& scope, std::span<const Variable> variables,
                             std::vector<GradientOutput> gradients, const UpdateOptions& options) {
  GradientGate gate{.gradients = std::move(gradients), .always = {}};
  if (options.accumulation_steps < 1) {
    scope.Fail(InvalidArgument("gradients of ", options.accumulation_steps, " steps cannot be accumulated"));
  }
  Output updates;
  if (options.accumulation_steps > 1) updates = Accumulate(scope, variables, options.accumulation_steps, &gate);
  if (options.loss_scale.has_value()) {
    Output finite = Unscale(scope, options.loss_scale, updates, &gate);
    if (finite.has_value()) updates = updates.has_value() ? ops::LogicalAnd(scope, updates, finite) : finite;
  }
  if (!updates.has_value()) return gate;
  for (GradientOutput& gradient : gate.gradients) {
    if (gradient.is_none()) continue;
    Output& elements = Elements(gradient);
    // What only waits for a Switch would run in any case.
    elements = ops::Identity(scope, OpCall(scope, "Switch").Add(elements).Add(updates).One(1));
  }
  return gate;
}

}  // namespace weir
