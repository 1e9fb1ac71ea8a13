#include "weir/client/differentiate.h"

#include "weir/client/gradients.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"

namespace weir {
namespace {

std::vector<Endpoint> Endpoints(std::span<const Output> outputs) {
  std::vector<Endpoint> out;
  for (const Output& output : outputs) out.push_back(output.endpoint());
  return out;
}

StatusOr<std::vector<GraphGradient>> Build(const Scope& scope, std::span<const Output> ys, std::span<const Endpoint> xs,
                                           std::span<const Output> grad_ys, bool zeros_if_unconnected = false) {
  WEIR_RETURN_IF_ERROR(scope.status());
  for (const Output& y : ys) {
    if (!y.has_value()) return InvalidArgument("the gradient of an Output without a value was requested");
  }
  GradientOptions options;
  options.scope = scope.UniqueName("gradients");
  if (zeros_if_unconnected) options.unconnected = GradientOptions::Unconnected::kZero;
  const std::vector<Endpoint> y_ends = Endpoints(ys), grad_ends = Endpoints(grad_ys);
  WEIR_ASSIGN_OR_RETURN(auto gradients,
                        AddGradients(scope.graph(), BuiltinGradients(), y_ends, xs, grad_ends, options));
  WEIR_RETURN_IF_ERROR(scope.NoticeNewNodes());
  return gradients;
}

std::vector<GradientOutput> Wrap(const Scope& scope, const StatusOr<std::vector<GraphGradient>>& gradients,
                                 size_t count) {
  if (!gradients.ok()) {
    scope.Fail(gradients.status());
    return std::vector<GradientOutput>(count);
  }
  auto output = [&](Endpoint end) { return end.node == kNoNode ? Output() : Output(scope, end); };
  std::vector<GradientOutput> out;
  for (const GraphGradient& g : *gradients) {
    out.push_back({output(g.dense), output(g.values), output(g.indices), output(g.dense_shape)});
  }
  return out;
}

// Does `change` to the tensor that holds a gradient's numbers.
template <typename F>
std::vector<GradientOutput> Change(std::vector<GradientOutput> gradients, F change) {
  for (GradientOutput& g : gradients) {
    if (!g.is_none()) (g.is_sparse() ? g.values : g.dense) = change(g.is_sparse() ? g.values : g.dense);
  }
  return gradients;
}

}  // namespace

Output GradientOutput::ToDense(const Scope& scope) const {
  if (!is_sparse()) return dense;
  Output rows =
      ops::StridedSlice(scope, dense_shape, Constant(scope, {0}, DType::kInt32), Constant(scope, {1}, DType::kInt32),
                        Constant(scope, {1}, DType::kInt32), {.shrink_axis_mask = 1});
  return ops::UnsortedSegmentSum(scope, values, indices, rows);
}

std::vector<GradientOutput> GradientsOf(const Scope& scope, std::span<const Output> ys,
                                        std::span<const Variable> variables) {
  std::vector<Endpoint> handles;
  for (const Variable& variable : variables) handles.push_back(variable.handle().endpoint());
  return Wrap(scope, Build(scope, ys, handles, {}), variables.size());
}

std::vector<GradientOutput> GradientsBy(const Scope& scope, std::span<const Output> ys, std::span<const Output> xs,
                                        std::span<const Output> grad_ys, bool zeros_if_unconnected) {
  return Wrap(scope, Build(scope, ys, Endpoints(xs), grad_ys, zeros_if_unconnected), xs.size());
}

namespace ops {

std::vector<Output> Gradients(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                              const std::vector<Output>& grad_ys) {
  std::vector<Output> out;
  for (const GradientOutput& g : Wrap(scope, Build(scope, ys, Endpoints(xs), grad_ys), xs.size())) {
    out.push_back(g.is_none() ? Output() : g.ToDense(scope));
  }
  return out;
}

}  // namespace ops

std::vector<GradientOutput> ClipByValue(const Scope& scope, std::vector<GradientOutput> gradients, double limit) {
  const Scope inside = scope.SubScope("clip_by_value");
  return Change(std::move(gradients),
                [&](const Output& g) { return ops::Maximum(inside, ops::Minimum(inside, g, limit), -limit); });
}

std::vector<GradientOutput> ClipByNorm(const Scope& scope, std::vector<GradientOutput> gradients, double norm) {
  const Scope inside = scope.SubScope("clip_by_norm");
  return Change(std::move(gradients), [&](const Output& g) {
    Output size = ops::Sqrt(inside, ops::L2Loss(inside, g) * 2);
    return g * norm / ops::Maximum(inside, size, norm);
  });
}

Output GlobalNorm(const Scope& scope, std::span<const GradientOutput> gradients) {
  const Scope inside = scope.SubScope("global_norm");
  std::vector<Output> squares;
  for (const GradientOutput& g : gradients) {
    if (!g.is_none()) squares.push_back(ops::L2Loss(inside, g.is_sparse() ? g.values : g.dense));
  }
  if (squares.empty()) return Constant(inside, 0.0f);
  return ops::Sqrt(inside, ops::AddN(inside, squares) * 2);
}

std::vector<GradientOutput> ClipByGlobalNorm(const Scope& scope, std::vector<GradientOutput> gradients, double norm,
                                             Output* global_norm) {
  const Scope inside = scope.SubScope("clip_by_global_norm");
  Output size = GlobalNorm(inside, gradients);
  if (global_norm != nullptr) *global_norm = size;
  // TensorFlow's order of operations, so that rounding is the same.
  Output scale = ops::Minimum(inside, 1 / size, 1 / norm) * norm;
  return Change(std::move(gradients), [&](const Output& g) { return g * scale; });
}

}  // namespace weir
