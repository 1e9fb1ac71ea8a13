#include "weir/client/gradients.h"

#include "weir/ops/gradients.h"

namespace weir {

GradientRegistry& BuiltinGradients() {
  static GradientRegistry* registry = [] {
    auto* gradients = new GradientRegistry;
    RegisterBuiltinGradients(*gradients);
    return gradients;
  }();
  return *registry;
}

StatusOr<std::vector<GraphGradient>> AddGradients(Graph& graph, std::span<const Endpoint> ys,
                                                  std::span<const Endpoint> xs, std::span<const Endpoint> grad_ys,
                                                  const GradientOptions& options) {
  return AddGradients(graph, BuiltinGradients(), ys, xs, grad_ys, options);
}

}  // namespace weir
