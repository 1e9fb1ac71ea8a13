// Gradients of tensors and variables of a Scope's graph.
#ifndef WEIR_CLIENT_DIFFERENTIATE_H_
#define WEIR_CLIENT_DIFFERENTIATE_H_

#include <span>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/variable.h"

namespace WEIR_PUBLIC weir {

// A gradient: nothing, a tensor, or rows of one (of a variable that is gathered from): row indices[i] of a tensor of
// shape `dense_shape` gets values[i].
struct GradientOutput {
  Output dense;
  Output values;
  Output indices;
  Output dense_shape;
  bool is_none() const { return !dense.has_value() && !values.has_value(); }
  bool is_sparse() const { return values.has_value(); }
  // As a tensor. REQUIRES: not none.
  Output ToDense(const Scope& scope) const;
};

// The derivative of the sum of `ys` by each variable.
std::vector<GradientOutput> GradientsOf(const Scope& scope, std::span<const Output> ys,
                                        std::span<const Variable> variables);

// The derivative by each x, which may be the handle of a variable. `grad_ys`, if given, are the weights of the ys.
std::vector<GradientOutput> GradientsBy(const Scope& scope, std::span<const Output> ys, std::span<const Output> xs,
                                        std::span<const Output> grad_ys, bool zeros_if_unconnected);

namespace ops {

// The derivative of the sum of `ys` by each x, as more nodes of the graph; an Output without a value where no y depends
// on the x. `grad_ys`, if given, are the weights of the ys.
std::vector<Output> Gradients(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                              const std::vector<Output>& grad_ys = {});

}  // namespace ops

// Limits to gradients; those that are none stay so.
std::vector<GradientOutput> ClipByValue(const Scope& scope, std::vector<GradientOutput> gradients, double limit);
// Each gradient's own norm.
std::vector<GradientOutput> ClipByNorm(const Scope& scope, std::vector<GradientOutput> gradients, double norm);
// The norm of all together. `global_norm` (may be null) is set to what it was before.
std::vector<GradientOutput> ClipByGlobalNorm(const Scope& scope, std::vector<GradientOutput> gradients, double norm,
                                             Output* global_norm = nullptr);
Output GlobalNorm(const Scope& scope, std::span<const GradientOutput> gradients);

}  // namespace weir

#endif  // WEIR_CLIENT_DIFFERENTIATE_H_
