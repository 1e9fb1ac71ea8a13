#include "weir/autodiff/function_gradient.h"

#include <algorithm>

#include "weir/autodiff/emit.h"
#include "weir/autodiff/gradients.h"
#include "weir/autodiff/graph_emitter.h"

namespace weir {
namespace {

StatusOr<Node*> AddEnd(Graph& graph, std::string_view op, std::string_view name, DType type, size_t index,
                       std::vector<Endpoint> inputs) {
  Graph::NodeSpec spec{.name = graph.UniqueName(name), .op = std::string(op)};
  spec.attrs.Set("T", BaseType(type));
  spec.attrs.Set("index", static_cast<int64_t>(index));
  spec.inputs = std::move(inputs);
  return graph.AddNode(std::move(spec));
}

}  // namespace

// Extends the body in place. The backward nodes are in the same graph as the forward nodes and read their values
// directly; then the gradients replace the original results.
StatusOr<std::unique_ptr<FunctionBody>> DifferentiateFunction(std::unique_ptr<FunctionBody> body,
                                                              const GradientRegistry& registry) {
  Graph& graph = body->graph;
  std::vector<Endpoint> ys, grad_ys, xs;
  for (NodeId arg : body->args) xs.push_back({arg, 0});
  for (NodeId ret : body->rets) {
    const Endpoint y = graph.node(ret)->inputs[0];
    WEIR_ASSIGN_OR_RETURN(Node * arg, AddEnd(graph, "_Arg", "flow", graph.type(y), body->args.size(), {}));
    body->args.push_back(arg->id);
    body->types.inputs.push_back(arg->output_type(0));
    if (!emit::IsTrainable(graph.type(y))) continue;
    ys.push_back(y);
    grad_ys.push_back({arg->id, 0});
  }
  GradientOptions options{.unconnected = GradientOptions::Unconnected::kZero, .scope = "symbolic_gradient"};
  WEIR_ASSIGN_OR_RETURN(std::vector<Endpoint> gradients, AddDenseGradients(graph, registry, ys, xs, grad_ys, options));
  for (NodeId ret : body->rets) {
    std::erase(body->control_rets, ret);
    graph.RemoveNode(ret);
  }
  body->rets.clear();
  body->types.outputs.clear();
  for (Endpoint gradient : gradients) {
    WEIR_ASSIGN_OR_RETURN(Node * ret,
                          AddEnd(graph, "_Retval", "gradient", graph.type(gradient), body->rets.size(), {gradient}));
    body->rets.push_back(ret->id);
    body->types.outputs.push_back(BaseType(graph.type(gradient)));
  }
  return body;
}

}  // namespace weir
