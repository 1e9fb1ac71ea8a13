#include "weir/autodiff/gradients.h"

#include "weir/autodiff/emit.h"
#include "weir/autodiff/sweep.h"

namespace weir {
namespace {

Status CheckEndpoint(const Graph& graph, Endpoint tensor, std::string_view what) {
  if (tensor.node < 0 || tensor.node >= graph.num_node_ids() || graph.node(tensor.node) == nullptr ||
      tensor.index < 0 || tensor.index >= graph.node(tensor.node)->num_outputs()) {
    return InvalidArgument("The graph has no tensor (", tensor.node, ", ", tensor.index, ") as ", what);
  }
  return OkStatus();
}

Status CheckArguments(const Graph& graph, std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                      std::span<const Endpoint> grad_ys) {
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return InvalidArgument("There are ", ys.size(), " ys but ", grad_ys.size(), " grad_ys");
  }
  for (Endpoint x : xs) WEIR_RETURN_IF_ERROR(CheckEndpoint(graph, x, "an x"));
  for (size_t i = 0; i < ys.size(); ++i) {
    WEIR_RETURN_IF_ERROR(CheckEndpoint(graph, ys[i], "a y"));
    const DType dtype = BaseType(graph.type(ys[i]));
    if (grad_ys.empty() || grad_ys[i].node == kNoNode) {
      if (!IsFloating(dtype) && dtype != DType::kVariant) {
        return InvalidArgument("Gradients of ", Name(dtype), " tensors must set grad_ys (y ", graph.TensorName(ys[i]),
                               ")");
      }
      continue;
    }
    WEIR_RETURN_IF_ERROR(CheckEndpoint(graph, grad_ys[i], "a grad_y"));
    if (BaseType(graph.type(grad_ys[i])) != dtype && dtype != DType::kResource) {
      return InvalidArgument("The gradient of ", graph.TensorName(ys[i]), " must be ", Name(dtype), " but is ",
                             Name(graph.type(grad_ys[i])));
    }
  }
  return OkStatus();
}

// `scope`, or the first of `scope_1`, `scope_2` ... that has no nodes yet.
std::string UniqueScope(const Graph& graph, const std::string& scope) {
  StringSet used;
  for (const auto& node : graph.nodes()) {
    if (node && node->name.starts_with(scope)) used.insert(node->name.substr(0, node->name.find('/', scope.size())));
  }
  if (scope.empty() || !used.contains(scope)) return scope;
  for (int i = 1;; ++i) {
    if (std::string next = Cat(scope, "_", i); !used.contains(next)) return next;
  }
}

GraphGradient ToGraph(GraphEmitter& emitter, const GradientValue& gradient) {
  return {emitter.ToEndpoint(gradient.dense), emitter.ToEndpoint(gradient.values), emitter.ToEndpoint(gradient.indices),
          emitter.ToEndpoint(gradient.dense_shape)};
}

StatusOr<std::vector<GraphGradient>> Differentiate(Graph& graph, const GradientRegistry& registry,
                                                   std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                                                   std::span<const Endpoint> grad_ys, const GradientOptions& options,
                                                   bool make_dense) {
  WEIR_RETURN_IF_ERROR(CheckArguments(graph, ys, xs, grad_ys));
  WEIR_ASSIGN_OR_RETURN(LoopFrames frames, FindLoopFrames(graph));
  WEIR_ASSIGN_OR_RETURN(Region region, Region::Make(graph, frames, 0));
  GraphShapes shapes(graph);
  GraphEmitter emitter(graph, shapes);
  const std::string scope = UniqueScope(graph, options.scope);
  emitter.set_scope(scope);
  SweepSettings settings{&registry, options.aggregation, options.colocate, scope};
  Sweep sweep(settings, frames, region, emitter, emitter);
  for (size_t i = 0; i < ys.size(); ++i) {
    Value y = emitter.At(ys[i]);
    Value seed = grad_ys.empty() || grad_ys[i].node == kNoNode ? emit::OnesLike(y) : emitter.At(grad_ys[i]);
    sweep.Seed(ys[i], seed);
  }
  WEIR_RETURN_IF_ERROR(sweep.Run(xs, options.stop_gradients));
  std::vector<GraphGradient> out;
  for (Endpoint x : xs) {
    GradientValue gradient = sweep.Total(x);
    if (gradient.is_none() && options.unconnected == GradientOptions::Unconnected::kZero) {
      gradient = emit::ZerosLike(emitter.At(x));
    }
    if (make_dense) gradient = emit::Densify(gradient);
    out.push_back(ToGraph(emitter, gradient));
  }
  WEIR_RETURN_IF_ERROR(emitter.status());
  return out;
}

}  // namespace

StatusOr<std::vector<GraphGradient>> AddGradients(Graph& graph, const GradientRegistry& registry,
                                                  std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                                                  std::span<const Endpoint> grad_ys, const GradientOptions& options) {
  return Differentiate(graph, registry, ys, xs, grad_ys, options, /*make_dense=*/false);
}

StatusOr<std::vector<Endpoint>> AddDenseGradients(Graph& graph, const GradientRegistry& registry,
                                                  std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                                                  std::span<const Endpoint> grad_ys, const GradientOptions& options) {
  WEIR_ASSIGN_OR_RETURN(std::vector<GraphGradient> gradients,
                        Differentiate(graph, registry, ys, xs, grad_ys, options, /*make_dense=*/true));
  std::vector<Endpoint> out;
  for (const GraphGradient& gradient : gradients) out.push_back(gradient.dense);
  return out;
}

}  // namespace weir
