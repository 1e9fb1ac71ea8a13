// The gradient of While: the same method as for loops of Switch and Merge (loop_gradient.cc), but with functions.
//
// The forward body gets additional loop variables: an iteration counter, and for each forward value that the backward
// body needs a list, to which every iteration appends. The backward While runs as many iterations as the counter says.
// Its body pops an element of each list, runs the backward half of the body and passes on the gradients. Variables that
// the body returns unchanged need no list: they are handed to the backward loop as they are.
#include <algorithm>

#include "weir/autodiff/call_gradient.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/loop_emitter.h"
#include "weir/graph/function_export.h"

namespace weir {
namespace {

class WhileGradient {
 public:
  explicit WhileGradient(const CallContext& context)
      : context_(context),
        graph_(context.forward.graph()),
        node_(context.node),
        num_variables_(static_cast<int>(node_->inputs.size())) {}

  StatusOr<std::vector<GradientValue>> Run() {
    WEIR_RETURN_IF_ERROR(MakeBody());
    WEIR_RETURN_IF_ERROR(SortCaptures());
    WEIR_RETURN_IF_ERROR(ExtendForward());
    return RunBackward();
  }

 private:
  // Which variables depend on an x. Repeated until nothing changes, because one iteration after the other may make
  // further variables active.
  std::vector<bool> FindActive(const FunctionBody& body) const {
    const Graph& graph = body.graph;
    std::vector<bool> active(context_.reached);
    auto order = TopologicalOrder(graph);
    if (!order.ok()) return active;
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<bool> dependent(graph.num_node_ids(), false);
      for (int i = 0; i < num_variables_; ++i) dependent[body.args[i]] = active[i];
      for (NodeId id : *order) {
        for (Endpoint input : graph.node(id)->inputs) {
          if (dependent[input.node] && emit::IsTrainable(graph.type(input))) dependent[id] = true;
        }
      }
      for (int i = 0; i < num_variables_; ++i) {
        const Endpoint result = graph.node(body.rets[i])->inputs[0];
        if (active[i] || !dependent[result.node] || !emit::IsTrainable(graph.type(result))) continue;
        active[i] = changed = true;
      }
    }
    return active;
  }

  Status MakeBody() {
    const FunctionAttr& function = context_.call.functions[1];
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> body,
                          graph_.functions()->Instantiate(function, graph_.functions()));
    if (static_cast<int>(body->args.size()) != num_variables_ ||
        static_cast<int>(body->rets.size()) != num_variables_) {
      return InvalidArgument("The body of the loop '", node_->name, "' does not match the loop's variables");
    }
    active_ = FindActive(*body);
    std::vector<DType> flows(num_variables_, DType::kInvalid);
    for (int i = 0; i < num_variables_; ++i) {
      if (!active_[i]) continue;
      Value result = context_.backward.Borrow(context_.forward.At({node_->id, i}));
      Value flow = context_.grads[i].is_none() ? emit::ZerosLike(result) : emit::Densify(context_.grads[i]);
      flows[i] = flow.dtype();
      initial_.push_back(flow);
      active_index_.push_back(i);
    }
    WEIR_RETURN_IF_ERROR(context_.backward.status());
    auto differentiated = DifferentiatedBody::Make(context_.settings, std::move(body), flows, active_);
    if (!differentiated.ok()) {
      return Annotate(differentiated.status(), "", Cat("\n\tIn function '", function.name, "'"));
    }
    body_ = *std::move(differentiated);
    // The gradient is zero if the variable's new value does not depend on its old one.
    for (size_t i = 0; i < active_index_.size(); ++i) {
      Value& gradient = body_->gradients()[active_index_[i]];
      if (!gradient) gradient = body_->emitter().Op("ZerosLike", {body_->emitter().At({body_->flow_args()[i], 0})});
      gradient = body_->emitter().At(body_->emitter().ToEndpoint(gradient));
    }
    WEIR_RETURN_IF_ERROR(body_->forward_emitter().status());
    return body_->emitter().status();
  }

  bool IsInvariant(int variable) {
    FunctionBody& body = body_->forward();
    return body.graph.node(body.rets[variable])->inputs[0] == Endpoint{body.args[variable], 0};
  }

  Status SortCaptures() {
    for (const FunctionBackward::Capture& capture : body_->emitter().captures()) {
      const int argument = body_->ArgumentOf(capture.forward);
      if (argument >= 0 && IsInvariant(argument)) {
        invariants_.push_back({argument, capture.arg});
      } else {
        lists_.push_back(capture);
      }
    }
    return OkStatus();
  }

  // Lets the forward loop count its iterations and fill the lists.
  Status ExtendForward() {
    FunctionBody& body = body_->forward();
    GraphEmitter& inside = body_->forward_emitter();
    GraphEmitter& outside = context_.forward;
    std::vector<Value> added = {outside.Constant(Tensor::Scalar<int32_t>(0))};
    WEIR_ASSIGN_OR_RETURN(NodeId counter, AddArgument(body, "turns", DType::kInt32));
    Value one = inside.Constant(Tensor::Scalar<int32_t>(1));
    std::vector<Value> results = {inside.Op("AddV2", {inside.At({counter, 0}), one})};
    for (const FunctionBackward::Capture& capture : lists_) {
      const DType dtype = BaseType(body.graph.type(capture.forward));
      Value shape = outside.Constant(ElementShape(body_->forward_emitter().shapes().Of(capture.forward).shape));
      Value no_limit = outside.Constant(Tensor::Scalar<int32_t>(-1));
      added.push_back(outside.Op("EmptyTensorList", {shape, no_limit}, {{"element_dtype", dtype}}));
      WEIR_ASSIGN_OR_RETURN(NodeId list, AddArgument(body, "list", DType::kVariant));
      results.push_back(inside.Op("TensorListPushBack", {inside.At({list, 0}), inside.At(capture.forward)},
                                  {{"element_dtype", dtype}}));
    }
    WEIR_RETURN_IF_ERROR(inside.status());
    WEIR_RETURN_IF_ERROR(outside.status());
    for (Value result : results) WEIR_RETURN_IF_ERROR(AddResult(body, {result.node(), result.index()}));
    WEIR_ASSIGN_OR_RETURN(std::string body_name,
                          AddFunction(body, Cat("__forward_", context_.call.functions[1].name), *graph_.functions()));

    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> condition,
                          graph_.functions()->Instantiate(context_.call.functions[0], graph_.functions()));
    for (const Value& value : added) WEIR_RETURN_IF_ERROR(AddArgument(*condition, "unused", value.dtype()).status());
    WEIR_ASSIGN_OR_RETURN(
        std::string condition_name,
        AddFunction(*condition, Cat("__forward_", context_.call.functions[0].name), *graph_.functions()));
    std::vector<DType> types = node_->types->inputs;
    for (const Value& value : added) {
      types.push_back(value.dtype());
      node_->inputs.push_back({value.node(), value.index()});
    }
    node_->attrs.Set("cond", Attribute(FunctionAttr{std::move(condition_name), {}}));
    node_->attrs.Set("body", Attribute(FunctionAttr{std::move(body_name), {}}));
    node_->attrs.Set("T", TypesAttr(types));
    node_->attrs.Erase("output_shapes");
    node_->attrs.Erase("_output_shapes");
    WEIR_RETURN_IF_ERROR(graph_.RefreshTypes(node_));
    outside.shapes().Forget(node_->id);
    return OkStatus();
  }

  // Adds the backward loop. Its variables are the iterations left, the gradients, the lists and the invariants.
  StatusOr<std::vector<GradientValue>> RunBackward() {
    auto forward_value = [&](Endpoint tensor) { return context_.backward.Borrow(context_.forward.At(tensor)); };
    std::vector<Value> start = {forward_value({node_->id, num_variables_})};
    start.insert(start.end(), initial_.begin(), initial_.end());
    for (size_t i = 0; i < lists_.size(); ++i) {
      start.push_back(forward_value({node_->id, num_variables_ + 1 + static_cast<int>(i)}));
    }
    for (const auto& [argument, arg] : invariants_) start.push_back(forward_value(node_->inputs[argument]));
    std::vector<DType> types;
    for (const Value& value : start) types.push_back(value.dtype());

    bool stateful = false;
    WEIR_ASSIGN_OR_RETURN(std::string body_name, MakeBackwardBody(stateful));
    WEIR_ASSIGN_OR_RETURN(std::string condition_name, MakeBackwardCondition(types));
    AttrMap attrs;
    attrs.Set("T", TypesAttr(types));
    attrs.Set("cond", Attribute(FunctionAttr{std::move(condition_name), {}}));
    attrs.Set("body", Attribute(FunctionAttr{std::move(body_name), {}}));
    if (const Attribute* parallel = node_->attrs.Find("parallel_iterations"))
      attrs.Set("parallel_iterations", *parallel);
    Values results = context_.backward.Outputs(stateful ? "While" : "StatelessWhile", {start}, std::move(attrs));
    std::vector<GradientValue> out(num_variables_);
    for (size_t i = 0; i < active_index_.size(); ++i) out[active_index_[i]] = results[i + 1];
    return out;
  }

  StatusOr<std::string> MakeBackwardBody(bool& stateful) {
    FunctionBody& backward = body_->backward();
    FunctionBackward& emitter = body_->emitter();
    std::vector<NodeId> flow_args = backward.args;  // so far, these are all arguments
    backward.args.clear();
    backward.types.inputs.clear();
    WEIR_ASSIGN_OR_RETURN(NodeId turns, AddArgument(backward, "turns", DType::kInt32));
    Value left = emitter.Op("Sub", {emitter.At({turns, 0}), emitter.Constant(Tensor::Scalar<int32_t>(1))});
    std::vector<Value> results = {left};
    for (size_t i = 0; i < flow_args.size(); ++i) {
      backward.args.push_back(flow_args[i]);
      backward.types.inputs.push_back(initial_[i].dtype());
      results.push_back(body_->gradients()[active_index_[i]]);
    }
    for (const FunctionBackward::Capture& capture : lists_) {
      WEIR_ASSIGN_OR_RETURN(Value shorter, TakeFromList(capture));
      results.push_back(shorter);
    }
    for (const auto& [argument, arg] : invariants_) {
      backward.args.push_back(arg);
      backward.types.inputs.push_back(backward.graph.node(arg)->output_type(0));
      results.push_back(emitter.At({arg, 0}));
    }
    WEIR_RETURN_IF_ERROR(emitter.status());
    for (Value result : results) {
      Endpoint end = emitter.ToEndpoint(result);
      if (auto taken = replaced_.find(end.node); taken != replaced_.end()) end = taken->second;
      WEIR_RETURN_IF_ERROR(AddResult(backward, end));
    }
    for (const auto& node : backward.graph.nodes()) {
      if (node && node->op() != "_Arg" && node->op() != "_Retval") stateful |= node->schema->is_stateful;
    }
    return AddFunction(backward, Cat("__backward_", context_.call.functions[1].name), *graph_.functions());
  }

  // Replaces the argument of a captured value by an element of a list.
  StatusOr<Value> TakeFromList(const FunctionBackward::Capture& capture) {
    FunctionBody& backward = body_->backward();
    FunctionBackward& emitter = body_->emitter();
    WEIR_ASSIGN_OR_RETURN(NodeId list, AddArgument(backward, "list", DType::kVariant));
    Value shape = emitter.Constant(ElementShape(body_->forward_emitter().shapes().Of(capture.forward).shape));
    const DType dtype = BaseType(backward.graph.node(capture.arg)->output_type(0));
    Values taken = emitter.Outputs("TensorListPopBack", {emitter.At({list, 0}), shape}, {{"element_dtype", dtype}});
    WEIR_RETURN_IF_ERROR(emitter.status());
    const Endpoint element{taken[1].node(), taken[1].index()};
    for (const auto& node : backward.graph.nodes()) {
      if (!node) continue;
      for (Endpoint& input : node->inputs) {
        if (input.node == capture.arg) input = element;
      }
      for (NodeId& input : node->control_inputs) {
        if (input == capture.arg) input = element.node;
      }
    }
    replaced_[capture.arg] = element;
    return taken[0];
  }

  StatusOr<std::string> MakeBackwardCondition(const std::vector<DType>& types) {
    FunctionBody condition{Graph(graph_.ops(), graph_.functions())};
    for (DType type : types) WEIR_RETURN_IF_ERROR(AddArgument(condition, "value", type).status());
    GraphShapes shapes(condition.graph);
    GraphEmitter emitter(condition.graph, shapes);
    Value more =
        emitter.Op("Greater", {emitter.At({condition.args[0], 0}), emitter.Constant(Tensor::Scalar<int32_t>(0))});
    WEIR_RETURN_IF_ERROR(emitter.status());
    WEIR_RETURN_IF_ERROR(AddResult(condition, {more.node(), more.index()}));
    return AddFunction(condition, Cat("__backward_", context_.call.functions[0].name), *graph_.functions());
  }

  const CallContext& context_;
  Graph& graph_;
  Node* node_;
  const int num_variables_;
  std::vector<bool> active_;
  std::vector<int> active_index_;  // the indices of the active variables
  std::vector<Value> initial_;     // the gradient of each of them after the loop
  std::unique_ptr<DifferentiatedBody> body_;
  std::vector<std::pair<int, NodeId>> invariants_;  // variable, argument of the backward body
  std::vector<FunctionBackward::Capture> lists_;
  absl::flat_hash_map<NodeId, Endpoint> replaced_;
};

}  // namespace

StatusOr<std::vector<GradientValue>> DifferentiateWhile(const CallContext& context) {
  return WhileGradient(context).Run();
}

}  // namespace weir
