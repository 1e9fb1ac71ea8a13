// Gradients of tensors and variables in a Scope's graph.
#ifndef WEIR_CLIENT_DIFFERENTIATE_H_
#define WEIR_CLIENT_DIFFERENTIATE_H_

#include <span>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/variable.h"

namespace WEIR_PUBLIC weir {

// A gradient: none, dense, or sparse (for a variable that is gathered from). In a sparse gradient, values[i] belongs to
// row indices[i] of a tensor of shape `dense_shape`.
struct GradientOutput {
  Output dense;
  Output values;
  Output indices;
  Output dense_shape;
  bool is_none() const { return !dense.has_value() && !values.has_value(); }
  bool is_sparse() const { return values.has_value(); }
  // The gradient as a dense tensor. REQUIRES: not none.
  Output ToDense(const Scope& scope) const;
};

// The derivative of the sum of `ys` with respect to each variable.
std::vector<GradientOutput> GradientsOf(const Scope& scope, std::span<const Output> ys,
                                        std::span<const Variable> variables);

// The derivative with respect to each x, which may be a variable's handle. `grad_ys`, if given, are the weights of the
// ys.
std::vector<GradientOutput> GradientsBy(const Scope& scope, std::span<const Output> ys, std::span<const Output> xs,
                                        std::span<const Output> grad_ys, bool zeros_if_unconnected);

namespace ops {

// Adds nodes that compute the derivative of the sum of `ys` with respect to each x; an Output without a value if no y
// depends on the x. `grad_ys`, if given, are the weights of the ys.
std::vector<Output> Gradients(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                              const std::vector<Output>& grad_ys = {});

}  // namespace ops

// Gradient clipping; gradients that are none stay none.
std::vector<GradientOutput> ClipByValue(const Scope& scope, std::vector<GradientOutput> gradients, double limit);
// Clips each gradient by its own norm.
std::vector<GradientOutput> ClipByNorm(const Scope& scope, std::vector<GradientOutput> gradients, double norm);
// Clips by the norm of all gradients together. `global_norm` (may be null) receives that norm.
std::vector<GradientOutput> ClipByGlobalNorm(const Scope& scope, std::vector<GradientOutput> gradients, double norm,
                                             Output* global_norm = nullptr);
Output GlobalNorm(const Scope& scope, std::span<const GradientOutput> gradients);

}  // namespace weir

#endif  // WEIR_CLIENT_DIFFERENTIATE_H_
