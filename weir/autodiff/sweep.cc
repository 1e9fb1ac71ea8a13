#include "weir/autodiff/sweep.h"

#include <algorithm>

#include "weir/autodiff/call_gradient.h"
#include "weir/autodiff/emit.h"
#include "weir/graph/function_library.h"

namespace weir {
namespace {

// The functions that this thread is differentiating, innermost last. Differentiating a recursive function would never
// end, and nested calls multiply: if every function calls the next one twice, the last one has to be differentiated
// exponentially often. Both are reported as errors.
class FunctionsAtWork {
 public:
  explicit FunctionsAtWork(const CallNode& call) {
    if (Names().empty()) Count() = 0;
    for (const FunctionAttr& function : call.functions) {
      std::string name = function.name;
      for (const auto& [attr, value] : function.attrs) name += Cat(";", attr, "=", value.ToString());
      if (std::ranges::find(Names(), name) != Names().end()) {
        status_ = Unimplemented("Function '", function.name, "' calls itself: it cannot be differentiated");
      }
      own_.push_back(std::move(name));
    }
    if (++Count() > kMostFunctions) {
      status_ = ResourceExhausted("More than ", kMostFunctions, " functions would have to be differentiated");
    }
    Names().insert(Names().end(), own_.begin(), own_.end());
  }
  ~FunctionsAtWork() { Names().resize(Names().size() - own_.size()); }
  const Status& status() const { return status_; }

 private:
  static constexpr int64_t kMostFunctions = 20'000;
  static std::vector<std::string>& Names() {
    thread_local std::vector<std::string> names;
    return names;
  }
  static int64_t& Count() {
    thread_local int64_t count = 0;
    return count;
  }
  std::vector<std::string> own_;
  Status status_;
};

}  // namespace

Sweep::Sweep(const SweepSettings& settings, const LoopFrames& frames, const Region& region, GraphEmitter& forward,
             GraphEmitter& backward)
    : settings_(settings),
      frames_(frames),
      region_(region),
      forward_(forward),
      backward_(backward),
      graph_(forward.graph()) {
  backward_.set_source(settings.source);
}

void Sweep::Seed(Endpoint tensor, GradientValue gradient) { flows_[tensor].push_back(gradient); }

// Marks the nodes that depend on an x: only their gradients are worth computing. Dependencies through `stops_` do not
// count.
void Sweep::MarkReached(std::span<const Endpoint> xs) {
  reached_.assign(graph_.num_node_ids(), false);
  absl::flat_hash_set<Endpoint> targets(xs.begin(), xs.end());
  for (Endpoint x : xs) reached_[x.node] = true;
  auto flows_on = [&](Endpoint input) {
    return IsReached(input) && (!stops_.contains(input) || targets.contains(input));
  };
  for (const RegionUnit& unit : region_.units()) {
    if (unit.node != kNoNode) {
      const Node& node = *graph_.node(unit.node);
      if (!reached_[unit.node]) reached_[unit.node] = std::ranges::any_of(node.inputs, flows_on);
      continue;
    }
    bool any = std::ranges::any_of(unit.enters, [&](NodeId enter) { return flows_on(graph_.node(enter)->inputs[0]); });
    for (NodeId exit : unit.exits) reached_[exit] = any;
  }
}

bool Sweep::IsReached(Endpoint tensor) const {
  return tensor.node < static_cast<NodeId>(reached_.size()) && reached_[tensor.node] &&
         emit::IsTrainable(graph_.type(tensor));
}

void Sweep::Flow(Endpoint tensor, GradientValue gradient) {
  if (!gradient.is_none() && IsReached(tensor)) flows_[tensor].push_back(gradient);
}

// Reverse topological order: when a unit is visited, all of its consumers have added their terms to flows_.
Status Sweep::Run(std::span<const Endpoint> xs, std::span<const Endpoint> stops) {
  stops_.insert(stops.begin(), stops.end());
  MarkReached(xs);
  for (auto unit = region_.units().rbegin(); unit != region_.units().rend(); ++unit) {
    if (unit->node != kNoNode) {
      if (reached_[unit->node]) WEIR_RETURN_IF_ERROR(DifferentiateNode(*graph_.node(unit->node)));
    } else if (std::ranges::any_of(unit->exits, [&](NodeId exit) { return flows_.contains(Endpoint{exit, 0}); })) {
      WEIR_RETURN_IF_ERROR(DifferentiateLoop(*unit));
    }
  }
  return backward_.status();
}

GradientValue Sweep::Total(Endpoint tensor) {
  auto found = flows_.find(tensor);
  if (found == flows_.end()) return {};
  if (found->second.size() > 1) {
    GradientValue sum = Add(found->second);
    found = flows_.find(tensor);
    found->second = {sum};
  }
  return found->second[0];
}

GradientValue Sweep::Add(const std::vector<GradientValue>& terms) {
  if (settings_.aggregation == GradientOptions::Aggregation::kAddN ||
      std::ranges::all_of(terms, [](const GradientValue& term) { return term.is_sparse(); })) {
    return emit::AddUp(terms);
  }
  std::vector<Value> dense;
  for (const GradientValue& term : terms) dense.push_back(emit::Densify(term));
  return AddInPairs(std::move(dense));
}

Value Sweep::AddInPairs(std::vector<Value> terms) {
  while (terms.size() > 1) {
    std::vector<Value> sums;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) sums.push_back(emit::AddN({terms[i], terms[i + 1]}));
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms[0];
}

// The node that gradient nodes are colocated with. The members of a collective are devices, so the gradient of a
// collective, which is a collective itself, has to stay on the same device.
const Node* Sweep::Colocation(const Node& node) const {
  return settings_.colocate || node.schema->is_distributed_communication ? &node : nullptr;
}

Status Sweep::DifferentiateNode(const Node& node) {
  std::vector<GradientValue> grads(node.num_outputs());
  bool any = false;
  for (int i = 0; i < node.num_outputs(); ++i) {
    const Endpoint output{node.id, i};
    if (stops_.contains(output) || !flows_.contains(output)) continue;
    backward_.set_colocation(Colocation(node));
    grads[i] = Total(output);
    any = true;
  }
  if (!any || std::ranges::none_of(node.inputs, [&](Endpoint input) { return IsReached(input); })) return OkStatus();
  const std::string outer_scope = backward_.scope();
  backward_.set_scope(outer_scope.empty() ? Cat(node.name, "_grad") : Cat(outer_scope, "/", node.name, "_grad"));
  backward_.set_colocation(Colocation(node));
  Status status;
  if (IsSwitch(node)) {
    status = DifferentiateSwitch(node, grads);
  } else if (IsMerge(node)) {
    status = DifferentiateMerge(node, grads);
  } else {
    status = CallGradientFunction(node, std::move(grads));
  }
  if (status.ok()) status = backward_.status();
  backward_.set_scope(outer_scope);
  backward_.set_colocation(nullptr);
  if (status.ok()) return status;
  return Annotate(status, "", Cat("\n\t [[gradient of {{node ", node.name, "}}]]"));
}

Status Sweep::CallGradientFunction(const Node& node, std::vector<GradientValue> grads) {
  if (auto traced = node.Attr<FunctionAttr>("_gradient_function"); traced.ok()) {
    return CallTracedGradient(node, *traced, grads);
  }
  std::string name = node.op();
  const std::optional<CallNode> call = TakeApart(graph_, node);
  if (auto custom = node.Attr<std::string>("_gradient_op_type"); custom.ok()) {
    if (std::string function = graph_.functions()->FindRegisteredGradient(*custom); !function.empty()) {
      return CallCustomGradient(node, {function, {}}, grads, /*with_inputs=*/false);
    }
    // If only the client knew the custom gradient of a call, the body of the called function is differentiated instead.
    if (!call || settings_.registry->KindOf(*custom) != GradientRegistry::Kind::kUnknown) name = *std::move(custom);
  }
  if (call && name == node.op()) return DifferentiateCall(node, *call, grads);
  switch (settings_.registry->KindOf(name)) {
    case GradientRegistry::Kind::kNotDifferentiable:
      return OkStatus();
    case GradientRegistry::Kind::kUnknown:
      if (name == node.op() && node.schema->gradient == Gradient::kNone) return OkStatus();
      return NotFound("No gradient defined for operation '", node.name, "' (op type: ", name, ")");
    case GradientRegistry::Kind::kFunction:
      break;
  }
  std::vector<Value> inputs, outputs;
  for (Endpoint input : node.inputs) inputs.push_back(backward_.Borrow(forward_.At(input)));
  for (int i = 0; i < node.num_outputs(); ++i) outputs.push_back(backward_.Borrow(forward_.At({node.id, i})));
  GradientContext context(backward_, node.op(), node.attrs, std::move(inputs), std::move(outputs), std::move(grads));
  return FlowAll(node, settings_.registry->Find(name)(context));
}

Status Sweep::FlowAll(const Node& node, const std::vector<GradientValue>& results) {
  WEIR_RETURN_IF_ERROR(backward_.status());
  if (results.size() > node.inputs.size()) {
    return Internal("The gradient of ", node.op(), " returned ", results.size(), " values for ", node.inputs.size(),
                    " inputs");
  }
  for (size_t i = 0; i < results.size(); ++i) Flow(node.inputs[i], results[i]);
  return OkStatus();
}

Status Sweep::DifferentiateCall(const Node& node, const CallNode& call, const std::vector<GradientValue>& grads) {
  if (call.functions.size() == 1) {
    std::string custom = graph_.functions()->FindGradient(call.functions[0].name);
    if (!custom.empty()) {
      return CallCustomGradient(node, {std::move(custom), call.functions[0].attrs}, grads, /*with_inputs=*/true);
    }
  }
  FunctionsAtWork at_work(call);
  WEIR_RETURN_IF_ERROR(at_work.status());
  std::vector<bool> reached;
  for (Endpoint input : node.inputs) reached.push_back(IsReached(input));
  CallContext context{settings_, forward_, backward_, graph_.node(node.id), call, grads, reached};
  WEIR_ASSIGN_OR_RETURN(std::vector<GradientValue> results,
                        call.is_loop ? DifferentiateWhile(context) : DifferentiateBranches(context));
  return FlowAll(node, results);
}

// Calls a user-defined gradient function. Its arguments are the inputs, if `with_inputs`, and the gradients of the
// outputs.
Status Sweep::CallCustomGradient(const Node& node, const FunctionAttr& function,
                                 const std::vector<GradientValue>& grads, bool with_inputs) {
  std::vector<Value> arguments;
  std::vector<DType> types;
  for (Endpoint input : node.inputs) {
    types.push_back(BaseType(graph_.type(input)));
    if (with_inputs) arguments.push_back(backward_.Borrow(forward_.At(input)));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    arguments.push_back(grads[i].is_none() ? emit::ZerosLike(backward_.Borrow(forward_.At({node.id, i})))
                                           : emit::Densify(grads[i]));
  }
  AttrMap attrs;
  attrs.Set("f", Attribute(function));
  attrs.Set("Tout", TypesAttr(types));
  Values results = backward_.Outputs("StatefulPartitionedCall", {arguments}, std::move(attrs));
  return FlowAll(node, std::vector<GradientValue>(results.begin(), results.end()));
}

Status Sweep::CallTracedGradient(const Node& node, const FunctionAttr& function,
                                 const std::vector<GradientValue>& grads) {
  WEIR_ASSIGN_OR_RETURN(const int64_t num_captures, node.Attr<int64_t>("_gradient_captures"));
  WEIR_ASSIGN_OR_RETURN(const std::vector<int64_t> places, node.Attr<std::vector<int64_t>>("_gradient_inputs"));
  const auto num_inputs = static_cast<int64_t>(node.inputs.size());
  const bool in_range = std::ranges::all_of(places, [&](int64_t place) { return place >= 0 && place < num_inputs; });
  if (node.num_outputs() != num_inputs || num_captures < 0 || num_captures > num_inputs || !in_range) {
    return InvalidArgument("The attributes of node '", node.name, "' do not fit its gradient function ", function.name);
  }
  std::vector<Value> arguments;
  for (int i = 0; i < node.num_outputs() - num_captures; ++i) {
    arguments.push_back(grads[i].is_none() ? emit::ZerosLike(backward_.Borrow(forward_.At({node.id, i})))
                                           : emit::Densify(grads[i]));
  }
  for (int64_t i = num_inputs - num_captures; i < num_inputs; ++i) {
    arguments.push_back(backward_.Borrow(forward_.At(node.inputs[i])));
  }
  std::vector<DType> types;
  for (int64_t place : places) types.push_back(BaseType(graph_.type(node.inputs[place])));
  if (types.empty()) return OkStatus();
  AttrMap attrs;
  attrs.Set("f", Attribute(function));
  attrs.Set("Tout", TypesAttr(types));
  Values results = backward_.Outputs("StatefulPartitionedCall", {arguments}, std::move(attrs));
  WEIR_RETURN_IF_ERROR(backward_.status());
  for (size_t i = 0; i < places.size(); ++i) Flow(node.inputs[places[i]], results[i]);
  return OkStatus();
}

// Switch and Merge are each other's gradients: the gradient of a Switch's input is the Merge of the gradients of its
// outputs, of which one is dead.
Status Sweep::DifferentiateSwitch(const Node& node, const std::vector<GradientValue>& grads) {
  Value data = backward_.Borrow(forward_.At(node.inputs[0]));
  Value predicate = backward_.Borrow(forward_.At(node.inputs[1]));
  std::vector<Value> sides(2);
  for (int i = 0; i < 2; ++i) {
    // An output without a gradient contributes zeros, but only if its side was taken: the Merge expects one live input.
    sides[i] = grads[i].is_none() ? backward_.Outputs("Switch", {emit::ZerosLike(data), predicate})[i]
                                  : emit::Densify(grads[i]);
  }
  Flow(node.inputs[0], backward_.Op("Merge", {sides}));
  return OkStatus();
}

// The gradient of a Merge goes to the input that was live. A Switch on the predicate of the conditional sends it there;
// it is the predicate for which the two inputs are on opposite sides.
Status Sweep::DifferentiateMerge(const Node& node, const std::vector<GradientValue>& grads) {
  if (grads[0].is_none()) return OkStatus();
  // The inputs must be the two sides of one conditional.
  std::vector<Guard> first = region_.GuardsOf(node.inputs[0]);
  if (node.inputs.size() == 2) {
    for (const Guard& other : region_.GuardsOf(node.inputs[1])) {
      if (std::ranges::find(first, Guard{other.first, 1 - other.second}) == first.end()) continue;
      Value predicate = backward_.Borrow(forward_.At(other.first));
      Values sides = backward_.Outputs("Switch", {emit::Densify(grads[0]), predicate});
      Flow(node.inputs[0], sides[1 - other.second]);
      Flow(node.inputs[1], sides[other.second]);
      return OkStatus();
    }
  }
  return Unimplemented("The inputs of the Merge node '", node.name, "' are not the two sides of one condition");
}

bool IsDifferentiatedByStructure(std::string_view op) {
  for (std::string_view known : {"Switch",
                                 "RefSwitch",
                                 "Merge",
                                 "RefMerge",
                                 "Enter",
                                 "RefEnter",
                                 "Exit",
                                 "RefExit",
                                 "NextIteration",
                                 "RefNextIteration",
                                 "LoopCond",
                                 "PartitionedCall",
                                 "StatefulPartitionedCall",
                                 "If",
                                 "StatelessIf",
                                 "Case",
                                 "StatelessCase",
                                 "While",
                                 "StatelessWhile",
                                 "SymbolicGradient"}) {
    if (op == known) return true;
  }
  return false;
}

}  // namespace weir
