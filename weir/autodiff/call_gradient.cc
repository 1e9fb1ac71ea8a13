// The gradients of calls, If and Case.
//
// Each branch is differentiated on its own (DifferentiatedBody), but all branches of a node must have the same
// signature. So every forward function returns the values that any backward function needs; in place of values of other
// branches it returns a FakeParam, which nothing reads. Every backward function takes all of these values, and returns
// a gradient for each argument for which any branch has one, filling in zeros. The backward node takes the same branch
// as the forward node.
#include "weir/autodiff/call_gradient.h"

#include <algorithm>

#include "weir/autodiff/emit.h"
#include "weir/graph/function_export.h"

namespace weir {
namespace {

// Makes a node call other functions.
Status ReplaceFunctions(Graph& graph, Node* node, const std::vector<FunctionAttr>& functions, bool stateful) {
  const std::string& op = node->op();
  if (op == "If" || op == "StatelessIf") {
    node->attrs.Set("then_branch", Attribute(functions[0]));
    node->attrs.Set("else_branch", Attribute(functions[1]));
  } else if (op == "Case" || op == "StatelessCase") {
    AttrList list;
    list.func = functions;
    node->attrs.Set("branches", Attribute(std::move(list)));
  } else {
    if (op != "PartitionedCall" && op != "StatefulPartitionedCall") {
      // A direct call or a SymbolicGradient becomes a PartitionedCall of the new function.
      const std::vector<DType> in = node->types->inputs, out = node->types->outputs;
      AttrMap attrs;
      for (const auto& [name, value] : node->attrs) {
        if (name.starts_with('_')) attrs.Set(name, value);
      }
      node->attrs = std::move(attrs);
      node->attrs.Set("Tin", TypesAttr(in));
      node->attrs.Set("Tout", TypesAttr(out));
      WEIR_ASSIGN_OR_RETURN(node->schema, graph.ops().LookUp(stateful ? "StatefulPartitionedCall" : "PartitionedCall"));
    }
    node->attrs.Set("f", Attribute(functions[0]));
  }
  return OkStatus();
}

class BranchGradient {
 public:
  explicit BranchGradient(const CallContext& context)
      : context_(context),
        graph_(context.forward.graph()),
        node_(context.node),
        num_arguments_(static_cast<int>(node_->inputs.size()) - context.call.first_argument),
        num_results_(node_->num_outputs()) {}

  StatusOr<std::vector<GradientValue>> Run() {
    WEIR_RETURN_IF_ERROR(MakeBodies());
    FillGradients();
    for (const auto& body : bodies_) {
      WEIR_RETURN_IF_ERROR(body->emitter().status());
      WEIR_RETURN_IF_ERROR(body->forward_emitter().status());
    }
    CollectCaptures();
    WEIR_RETURN_IF_ERROR(ExtendForward());
    return CallBackward();
  }

 private:
  // A value that the backward functions take: an argument of the call, or an additional result of branch `branch`.
  struct Input {
    int argument = -1;
    int branch = -1;
    Endpoint forward;  // the tensor in that branch
    DType dtype = DType::kInvalid;
  };

  Status MakeBodies() {
    std::vector<DType> flows(num_results_, DType::kInvalid);
    for (int i = 0; i < num_results_; ++i) {
      if (context_.grads[i].is_none()) continue;
      flow_values_.push_back(emit::Densify(context_.grads[i]));
      flows[i] = flow_values_.back().dtype();
    }
    std::vector<bool> wanted;
    for (int i = 0; i < num_arguments_; ++i) wanted.push_back(context_.reached[i + context_.call.first_argument]);
    for (const FunctionAttr& function : context_.call.functions) {
      WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> body,
                            graph_.functions()->Instantiate(function, graph_.functions()));
      if (static_cast<int>(body->args.size()) != num_arguments_ ||
          static_cast<int>(body->rets.size()) != num_results_) {
        return InvalidArgument("Function '", function.name, "' does not match the node '", node_->name,
                               "' that calls it");
      }
      for (int i = 0; i < num_arguments_; ++i) SetShape(*body, i);
      auto differentiated = DifferentiatedBody::Make(context_.settings, std::move(body), flows, wanted);
      if (!differentiated.ok()) {
        return Annotate(differentiated.status(), "", Cat("\n\tIn function '", function.name, "'"));
      }
      bodies_.push_back(*std::move(differentiated));
    }
    return OkStatus();
  }

  // Tells the body the shapes of its arguments that are known at the call.
  void SetShape(FunctionBody& body, int argument) const {
    Node* arg = body.graph.node(body.args[argument]);
    const InferredTensor& known = context_.forward.shapes().Of(node_->inputs[argument + context_.call.first_argument]);
    if (known.shape.has_rank()) {
      AttrList shapes;
      shapes.shape.push_back(known.shape);
      arg->attrs.Set("_output_shapes", Attribute(std::move(shapes)));
    }
    if (!known.handle_data.empty()) {
      AttrList types, shapes;
      for (const auto& each : known.handle_data) {
        types.type.push_back(each.dtype);
        shapes.shape.push_back(each.shape);
      }
      arg->attrs.Set("_handle_dtypes", Attribute(std::move(types)));
      arg->attrs.Set("_handle_shapes", Attribute(std::move(shapes)));
    }
  }

  // All branches must return the same gradients. A branch that has none returns zeros.
  void FillGradients() {
    for (int i = 0; i < num_arguments_; ++i) {
      const bool any = std::ranges::any_of(bodies_, [&](const auto& body) { return bool(body->gradients()[i]); });
      if (!any) continue;
      returned_.push_back(i);
      for (const auto& body : bodies_) {
        Value& gradient = body->gradients()[i];
        Value argument = body->emitter().Borrow(body->forward_emitter().At({body->forward().args[i], 0}));
        if (!gradient) gradient = emit::ZerosLike(argument);
        // Converting it to an endpoint imports the forward values that it needs.
        gradient = body->emitter().At(body->emitter().ToEndpoint(gradient));
      }
    }
  }

  void CollectCaptures() {
    for (size_t branch = 0; branch < bodies_.size(); ++branch) {
      for (const FunctionBackward::Capture& capture : bodies_[branch]->emitter().captures()) {
        Input input{bodies_[branch]->ArgumentOf(capture.forward), static_cast<int>(branch), capture.forward,
                    BaseType(bodies_[branch]->forward().graph.type(capture.forward))};
        if (input.argument >= 0) {
          auto known = std::ranges::find(inputs_, input.argument, &Input::argument);
          if (known != inputs_.end()) continue;
        }
        inputs_.push_back(input);
      }
    }
  }

  // Each forward function returns the values of its own branch, and placeholders of the right type for those of others.
  Status ExtendForward() {
    if (std::ranges::all_of(inputs_, [](const Input& input) { return input.argument >= 0; })) return OkStatus();
    std::vector<FunctionAttr> functions;
    bool stateful = false;
    for (size_t branch = 0; branch < bodies_.size(); ++branch) {
      FunctionBody& body = bodies_[branch]->forward();
      GraphEmitter& emitter = bodies_[branch]->forward_emitter();
      for (const Input& input : inputs_) {
        if (input.argument >= 0) continue;
        Endpoint value = input.forward;
        if (input.branch != static_cast<int>(branch)) {
          value = emitter.ToEndpoint(
              emitter.Op("FakeParam", {}, {{"dtype", input.dtype}, {"shape", PartialShape::Unknown()}}));
        }
        WEIR_RETURN_IF_ERROR(emitter.status());
        WEIR_RETURN_IF_ERROR(AddResult(body, value));
      }
      WEIR_ASSIGN_OR_RETURN(std::string name, AddFunction(body, Cat("__forward_", context_.call.functions[branch].name),
                                                          *graph_.functions()));
      functions.push_back({std::move(name), {}});
      stateful |= body.is_stateful;
    }
    WEIR_RETURN_IF_ERROR(ReplaceFunctions(graph_, node_, functions, stateful));
    std::vector<DType> results = node_->types->outputs;
    for (const Input& input : inputs_) {
      if (input.argument < 0) results.push_back(input.dtype);
    }
    node_->attrs.Set("Tout", TypesAttr(results));
    node_->attrs.Erase("output_shapes");
    node_->attrs.Erase("_output_shapes");
    WEIR_RETURN_IF_ERROR(graph_.RefreshTypes(node_));
    context_.forward.shapes().Forget(node_->id);
    return OkStatus();
  }

  StatusOr<std::vector<GradientValue>> CallBackward() {
    std::vector<GradientValue> out(node_->inputs.size());
    if (returned_.empty()) return out;
    std::vector<FunctionAttr> functions;
    std::vector<DType> result_types;
    bool stateful = false;
    for (size_t branch = 0; branch < bodies_.size(); ++branch) {
      WEIR_ASSIGN_OR_RETURN(FunctionAttr function, FinishBackward(branch, stateful));
      functions.push_back(std::move(function));
    }
    for (int i : returned_) result_types.push_back(bodies_[0]->gradients()[i].dtype());

    std::vector<Value> arguments = flow_values_;
    int next_result = num_results_;
    for (const Input& input : inputs_) {
      Endpoint value = input.argument >= 0 ? node_->inputs[input.argument + context_.call.first_argument]
                                           : Endpoint{node_->id, next_result++};
      arguments.push_back(context_.backward.Borrow(context_.forward.At(value)));
    }
    AttrMap attrs;
    attrs.Set("Tout", TypesAttr(result_types));
    Values results;
    if (context_.call.first_argument == 0) {
      attrs.Set("f", Attribute(functions[0]));
      results = context_.backward.Outputs(stateful ? "StatefulPartitionedCall" : "PartitionedCall", {arguments},
                                          std::move(attrs));
    } else {
      Value choice = context_.backward.Borrow(context_.forward.At(node_->inputs[0]));
      std::string op = node_->op().ends_with("If") ? "If" : "Case";
      if (op == "If") {
        attrs.Set("then_branch", Attribute(functions[0]));
        attrs.Set("else_branch", Attribute(functions[1]));
      } else {
        AttrList list;
        list.func = functions;
        attrs.Set("branches", Attribute(std::move(list)));
      }
      results = context_.backward.Outputs(stateful ? op : Cat("Stateless", op), {choice, arguments}, std::move(attrs));
    }
    for (size_t i = 0; i < returned_.size(); ++i) {
      out[returned_[i] + context_.call.first_argument] = results[i];
    }
    return out;
  }

  // Gives the backward function of a branch its arguments in the order that all branches share.
  StatusOr<FunctionAttr> FinishBackward(size_t branch, bool& stateful) {
    DifferentiatedBody& body = *bodies_[branch];
    FunctionBody& backward = body.backward();
    for (const Input& input : inputs_) {
      NodeId arg = kNoNode;
      for (const FunctionBackward::Capture& capture : body.emitter().captures()) {
        const bool mine = input.argument >= 0
                              ? body.ArgumentOf(capture.forward) == input.argument
                              : input.branch == static_cast<int>(branch) && capture.forward == input.forward;
        if (mine) arg = capture.arg;
      }
      if (arg == kNoNode) {
        WEIR_RETURN_IF_ERROR(AddArgument(backward, "unused", input.dtype).status());
      } else {
        backward.args.push_back(arg);
        backward.types.inputs.push_back(input.dtype);
      }
    }
    for (int i : returned_) {
      Endpoint gradient = body.emitter().ToEndpoint(body.gradients()[i]);
      WEIR_RETURN_IF_ERROR(body.emitter().status());
      WEIR_RETURN_IF_ERROR(AddResult(backward, gradient));
    }
    for (const auto& node : backward.graph.nodes()) {
      if (node && node->op() != "_Arg" && node->op() != "_Retval") stateful |= node->schema->is_stateful;
    }
    WEIR_ASSIGN_OR_RETURN(
        std::string name,
        AddFunction(backward, Cat("__backward_", context_.call.functions[branch].name), *graph_.functions()));
    return FunctionAttr{std::move(name), {}};
  }

  const CallContext& context_;
  Graph& graph_;
  Node* node_;
  const int num_arguments_;
  const int num_results_;
  std::vector<Value> flow_values_;  // for the results; tensors of `backward`
  std::vector<std::unique_ptr<DifferentiatedBody>> bodies_;
  std::vector<int> returned_;  // indices of the arguments that get a gradient
  std::vector<Input> inputs_;
};

}  // namespace

std::optional<CallNode> TakeApart(const Graph& graph, const Node& node) {
  const std::string& op = node.op();
  CallNode out;
  auto add = [&](const char* attr) {
    auto function = node.Attr<FunctionAttr>(attr);
    if (function.ok()) out.functions.push_back(std::move(*function));
    return function.ok();
  };
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall") {
    if (!add("f")) return std::nullopt;
  } else if (op == "If" || op == "StatelessIf") {
    out.first_argument = 1;
    if (!add("then_branch") || !add("else_branch")) return std::nullopt;
  } else if (op == "Case" || op == "StatelessCase") {
    out.first_argument = 1;
    auto branches = node.Attr<std::vector<FunctionAttr>>("branches");
    if (!branches.ok() || branches->empty()) return std::nullopt;
    out.functions = *std::move(branches);
  } else if (op == "While" || op == "StatelessWhile") {
    out.is_loop = true;
    if (!add("cond") || !add("body")) return std::nullopt;
  } else if (op == kSymbolicGradient) {
    FunctionAttr function{std::string(kSymbolicGradient), {}};
    if (const Attribute* f = node.attrs.Find("f")) function.attrs.Set("f", *f);
    out.functions.push_back(std::move(function));
  } else if (graph.functions()->FindSchema(op) == node.schema) {
    FunctionAttr function{op, {}};
    for (const AttrSchema& attr : node.schema->attrs) {
      if (const Attribute* value = node.attrs.Find(attr.name)) function.attrs.Set(attr.name, *value);
    }
    out.functions.push_back(std::move(function));
  } else {
    return std::nullopt;
  }
  return out;
}

StatusOr<std::vector<GradientValue>> DifferentiateBranches(const CallContext& context) {
  return BranchGradient(context).Run();
}

}  // namespace weir
