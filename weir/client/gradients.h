// Gradients with everything that is linked in.
#ifndef WEIR_CLIENT_GRADIENTS_H_
#define WEIR_CLIENT_GRADIENTS_H_

#include "weir/autodiff/gradients.h"
#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

// The gradients of all families, made at first use and shared by the process. More may be added for ops of one's own.
GradientRegistry& BuiltinGradients();

// AddGradients of weir/autodiff/gradients.h with BuiltinGradients().
StatusOr<std::vector<GraphGradient>> AddGradients(Graph& graph, std::span<const Endpoint> ys,
                                                  std::span<const Endpoint> xs, std::span<const Endpoint> grad_ys = {},
                                                  const GradientOptions& options = {});

}  // namespace weir

#endif  // WEIR_CLIENT_GRADIENTS_H_
