#include "weir/autodiff/tape_call.h"

#include <algorithm>

#include "weir/autodiff/call_gradient.h"
#include "weir/autodiff/emit.h"
#include "weir/graph/function_export.h"

namespace weir {
namespace {

bool HasEffects(const FunctionBody& body) {
  return std::ranges::any_of(body.graph.nodes(), [](const auto& node) {
    return node && node->op() != "_Arg" && node->op() != "_Retval" && node->schema->is_stateful;
  });
}

// Whether a result of a function can have a gradient. A handle that a function returns cannot, unlike a handle
// argument.
bool IsFlow(DType dtype) { return emit::IsTrainable(dtype) && BaseType(dtype) != DType::kResource; }

}  // namespace

AttrMap TapeCall::forward_attrs() const {
  AttrMap attrs;
  attrs.Set("f", Attribute(forward));
  attrs.Set("Tout", TypesAttr(forward_types));
  return attrs;
}

StatusOr<TapeCall> DifferentiateForTape(const FunctionAttr& function, const std::shared_ptr<FunctionLibrary>& library,
                                        const GradientRegistry& registry) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> original, library->Instantiate(function, library));
  const std::vector<DType> results = original->types.outputs;
  TapeCall out;
  std::vector<DType> flows;
  std::vector<bool> wanted;
  for (size_t i = 0; i < results.size(); ++i) {
    flows.push_back(IsFlow(results[i]) ? BaseType(results[i]) : DType::kInvalid);
    if (IsFlow(results[i])) out.flows.push_back(static_cast<int>(i));
  }
  for (DType dtype : original->types.inputs) wanted.push_back(emit::IsTrainable(dtype));

  const SweepSettings settings{&registry, GradientOptions::Aggregation::kAddN, false, function.name};
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<DifferentiatedBody> body,
                        DifferentiatedBody::Make(settings, std::move(original), flows, wanted));
  FunctionBody& forward = body->forward();
  FunctionBody& backward = body->backward();
  for (size_t i = 0; i < body->gradients().size(); ++i) {
    if (!body->gradients()[i]) continue;
    const Endpoint gradient = body->emitter().ToEndpoint(body->gradients()[i]);
    WEIR_RETURN_IF_ERROR(body->emitter().status());
    WEIR_RETURN_IF_ERROR(AddResult(backward, gradient));
    out.returned.push_back(static_cast<int>(i));
  }
  for (const FunctionBackward::Capture& capture : body->emitter().captures()) {
    backward.args.push_back(capture.arg);
    backward.types.inputs.push_back(backward.graph.node(capture.arg)->output_type(0));
    TapeCall::Saved saved;
    saved.argument = body->ArgumentOf(capture.forward);
    if (saved.argument < 0) {
      saved.result = static_cast<int>(forward.rets.size());
      WEIR_RETURN_IF_ERROR(AddResult(forward, capture.forward));
    }
    out.saved.push_back(saved);
  }
  out.forward_types = forward.types.outputs;
  out.backward_types = backward.types.outputs;
  out.forward_is_stateful = HasEffects(forward);
  out.backward_is_stateful = HasEffects(backward);
  WEIR_ASSIGN_OR_RETURN(out.forward.name, AddFunction(forward, Cat("__forward_", function.name), *library));
  WEIR_ASSIGN_OR_RETURN(out.backward.name, AddFunction(backward, Cat("__backward_", function.name), *library));
  return out;
}

Gradients CallGradient(const TapeCall& call, GradientContext& g) {
  std::vector<Value> arguments;
  for (int flow : call.flows) arguments.push_back(g.grad(flow));
  for (const TapeCall::Saved& saved : call.saved) {
    arguments.push_back(saved.argument >= 0 ? g.input(saved.argument) : g.output(saved.result));
  }
  AttrMap attrs;
  attrs.Set("f", Attribute(call.backward));
  attrs.Set("Tout", TypesAttr(call.backward_types));
  const Values results = g.emitter().Outputs(call.backward_is_stateful ? "StatefulPartitionedCall" : "PartitionedCall",
                                             {arguments}, std::move(attrs));
  Gradients out(g.num_inputs());
  for (size_t i = 0; i < call.returned.size(); ++i) out[call.returned[i]] = results[i];
  return out;
}

}  // namespace weir
