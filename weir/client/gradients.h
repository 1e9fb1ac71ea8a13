// Gradients with the gradient functions of all linked-in families.
#ifndef WEIR_CLIENT_GRADIENTS_H_
#define WEIR_CLIENT_GRADIENTS_H_

#include "weir/autodiff/gradients.h"
#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

// The gradients of all families, shared by the process. Callers may add gradients for ops of their own.
GradientRegistry& BuiltinGradients();

// AddGradients of weir/autodiff/gradients.h with BuiltinGradients().
StatusOr<std::vector<GraphGradient>> AddGradients(Graph& graph, std::span<const Endpoint> ys,
                                                  std::span<const Endpoint> xs, std::span<const Endpoint> grad_ys = {},
                                                  const GradientOptions& options = {});

}  // namespace weir

#endif  // WEIR_CLIENT_GRADIENTS_H_
