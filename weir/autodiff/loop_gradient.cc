// The gradient of a loop of Enter, Merge, Switch, NextIteration and Exit: Sweep::DifferentiateLoop.
#include <algorithm>

#include "absl/functional/function_ref.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/loop_emitter.h"
#include "weir/autodiff/sweep.h"

namespace weir {
namespace {

// The variables and constants of a forward loop.
struct Loop {
  std::vector<LoopVariable> variables;
  std::vector<NodeId> constants;  // Enter nodes
};

StatusOr<Loop> FindLoop(const Graph& graph, const LoopFrames& frames, int frame) {
  Loop loop;
  Consumers consumers(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(frames.of_node.size()); ++id) {
    const Node* node = graph.node(id);
    if (node == nullptr || frames.of_node[id] != frame) continue;
    if (IsEnter(*node) && node->Attr<bool>("is_constant").value_or(false)) loop.constants.push_back(id);
    if (!IsMerge(*node) || node->inputs.size() != 2) continue;
    LoopVariable variable;
    variable.merge = id;
    for (Endpoint input : node->inputs) {
      if (IsEnter(*graph.node(input.node))) variable.enter = input.node;
      if (IsNextIteration(*graph.node(input.node))) variable.next = input.node;
    }
    if (variable.enter == kNoNode || variable.next == kNoNode) continue;  // of a conditional
    for (const Consumers::Use& use : consumers.of(id)) {
      if (use.input == 0 && use.output == 0 && IsLoopSwitch(graph, *graph.node(use.consumer))) {
        variable.turn = use.consumer;
      }
    }
    if (variable.turn == kNoNode) {
      return InvalidArgument("The loop variable '", node->name, "' has no Switch: its gradient cannot be built");
    }
    for (const Consumers::Use& use : consumers.of(variable.turn)) {
      if (use.input == 0 && use.output == 0 && IsExit(*graph.node(use.consumer))) variable.exit = use.consumer;
    }
    loop.variables.push_back(variable);
  }
  return loop;
}

// Where values of the body come from: per node, whether it depends on one of `sources`.
std::vector<bool> Dependents(const Graph& graph, const Region& body, const std::vector<NodeId>& sources) {
  std::vector<bool> out(graph.num_node_ids(), false);
  for (NodeId id : sources) out[id] = true;
  auto depends = [&](Endpoint input) { return out[input.node] && emit::IsTrainable(graph.type(input)); };
  for (const RegionUnit& unit : body.units()) {
    if (unit.node != kNoNode) {
      const Node& node = *graph.node(unit.node);
      if (!out[unit.node] && !IsLoopSwitch(graph, node)) out[unit.node] = std::ranges::any_of(node.inputs, depends);
      continue;
    }
    bool any = std::ranges::any_of(unit.enters, [&](NodeId enter) { return depends(graph.node(enter)->inputs[0]); });
    for (NodeId exit : unit.exits) out[exit] = any;
  }
  return out;
}

// For each variable, whether it may change with what is reached outside: through its start, or through a variable or
// constant in the body.
std::vector<bool> FindActive(const Graph& graph, const Region& body, const Loop& loop,
                             absl::FunctionRef<bool(NodeId enter)> is_reached) {
  std::vector<NodeId> sources;
  for (NodeId id : loop.constants) {
    if (is_reached(id)) sources.push_back(id);
  }
  std::vector<bool> active(loop.variables.size());
  for (size_t i = 0; i < active.size(); ++i) {
    active[i] = is_reached(loop.variables[i].enter);
    if (active[i]) sources.push_back(loop.variables[i].turn);
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> dependent = Dependents(graph, body, sources);
    for (size_t i = 0; i < active.size(); ++i) {
      const Node& next = *graph.node(loop.variables[i].next);
      if (active[i] || !dependent[next.inputs[0].node] || !emit::IsTrainable(next.output_type(0))) continue;
      active[i] = changed = true;
      sources.push_back(loop.variables[i].turn);
    }
  }
  return active;
}

// The variables of a backward loop: the gradient of each active variable, and a sum for each constant.
class CarriedGradients {
 public:
  // `outside` is where the loop stands. REQUIRES: both outlive this.
  CarriedGradients(GraphEmitter& outside, LoopBackward& back) : outside_(outside), back_(back) {}

  // The gradient of a tensor `x` of the forward body begins with `initial`; after the loop it belongs to `target`.
  // Gives its value in the body.
  StatusOr<Endpoint> Begin(Value initial, Endpoint x, Endpoint target, bool is_sum) {
    Endpoint start = outside_.ToEndpoint(initial);
    WEIR_RETURN_IF_ERROR(outside_.status());
    WEIR_ASSIGN_OR_RETURN(LoopVariable variable, back_.builder().Begin(start));
    WEIR_RETURN_IF_ERROR(back_.builder().Turn(&variable));
    carried_.push_back({x, target, is_sum, variable});
    return Endpoint{variable.turn, 1};
  }
  // The tensors of the forward body whose gradients are carried.
  std::vector<Endpoint> xs() const {
    std::vector<Endpoint> out;
    for (const Carried& carried : carried_) out.push_back(carried.x);
    return out;
  }
  // Closes the loop with what flowed in the body, and calls `flow` with each target and its gradient after the loop.
  Status End(Sweep& body, absl::FunctionRef<void(Endpoint target, Value gradient)> flow) {
    for (Carried& carried : carried_) {
      Value before = back_.At({carried.variable.turn, 1});
      Value total = emit::Densify(body.Total(carried.x));
      if (carried.is_sum) {
        total = total ? emit::operator+(before, total) : before;
      } else if (!total) {
        total = back_.Op("ZerosLike", {before});
      }
      Endpoint next = back_.ToEndpoint(total);
      WEIR_RETURN_IF_ERROR(back_.status());
      WEIR_RETURN_IF_ERROR(back_.builder().End(&carried.variable, next));
      flow(carried.target, outside_.At({carried.variable.exit, 0}));
    }
    return OkStatus();
  }

 private:
  struct Carried {
    Endpoint x;
    Endpoint target;
    bool is_sum;  // over all iterations
    LoopVariable variable;
  };
  GraphEmitter& outside_;
  LoopBackward& back_;
  std::vector<Carried> carried_;
};

// A node that runs when a loop is entered: what is added to the loop's start waits for it.
StatusOr<NodeId> AddStart(const Graph& graph, const Node& enter, GraphEmitter& forward) {
  AttrMap attrs;
  attrs.Set("T", BaseType(graph.type(enter.inputs[0])));
  WEIR_ASSIGN_OR_RETURN(Node * start, forward.AddNode("Identity", {enter.inputs[0]}, std::move(attrs)));
  return start->id;
}

// Names what an emitter adds below another scope, until it goes.
class ScopeOf {
 public:
  ScopeOf(GraphEmitter& emitter, const std::string& scope) : emitter_(emitter), before_(emitter.scope()) {
    emitter.set_scope(scope);
  }
  ~ScopeOf() { emitter_.set_scope(before_); }
  ScopeOf(const ScopeOf&) = delete;
  ScopeOf& operator=(const ScopeOf&) = delete;

 private:
  GraphEmitter& emitter_;
  const std::string before_;
};

}  // namespace

Status Sweep::DifferentiateLoop(const RegionUnit& unit) {
  const LoopFrame& frame = frames_.frames[unit.frame];
  WEIR_ASSIGN_OR_RETURN(Loop loop, FindLoop(graph_, frames_, unit.frame));
  WEIR_ASSIGN_OR_RETURN(Region body, Region::Make(graph_, frames_, unit.frame));
  auto outer = [&](NodeId enter) { return graph_.node(enter)->inputs[0]; };
  auto is_reached = [&](NodeId enter) { return IsReached(outer(enter)); };
  const std::vector<bool> active = FindActive(graph_, body, loop, is_reached);

  const std::string scope = Cat(backward_.scope().empty() ? "" : backward_.scope() + "/", frame.name, "_grad");
  const ScopeOf backward_scope(backward_, scope), forward_scope(forward_, scope);
  LoopBuilder forward_builder(forward_, frame.name, frame.parallel_iterations);
  forward_builder.set_condition(frame.loop_cond);
  LoopForward inside(forward_, body, std::move(forward_builder));
  inside.set_scope(scope);
  // What is added to the start of the forward loop runs when the loop does.
  const Node* first_enter = graph_.node(loop.variables.empty() ? unit.enters[0] : loop.variables[0].enter);
  if (region_.frame() != 0 || !region_.GuardsOf(first_enter->inputs[0]).empty()) {
    WEIR_ASSIGN_OR_RETURN(NodeId start, AddStart(graph_, *first_enter, forward_));
    inside.set_start(start);
  }
  WEIR_ASSIGN_OR_RETURN(Endpoint count, inside.Count());
  LoopBackward back(backward_, inside,
                    LoopBuilder(backward_, graph_.UniqueName(Cat(scope, "/frame")), frame.parallel_iterations));
  back.set_scope(scope);
  Endpoint turns = backward_.ToEndpoint(backward_.Borrow(forward_.At(count)));
  WEIR_RETURN_IF_ERROR(backward_.status());
  WEIR_RETURN_IF_ERROR(back.Begin(turns));

  Sweep sweep(settings_, frames_, body, inside, back);
  CarriedGradients carried(backward_, back);
  for (size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    const LoopVariable& variable = loop.variables[i];
    GradientValue flow;
    if (variable.exit != kNoNode && !stops_.contains(Endpoint{variable.exit, 0})) flow = Total({variable.exit, 0});
    Value like =
        backward_.Borrow(forward_.At(variable.exit != kNoNode ? Endpoint{variable.exit, 0} : outer(variable.enter)));
    WEIR_ASSIGN_OR_RETURN(Endpoint seed, carried.Begin(flow.is_none() ? emit::ZerosLike(like) : emit::Densify(flow),
                                                       {variable.turn, 1}, outer(variable.enter), /*is_sum=*/false));
    sweep.Seed(graph_.node(variable.next)->inputs[0], back.At(seed));
  }
  for (NodeId id : loop.constants) {
    if (!is_reached(id)) continue;
    Value zeros = emit::ZerosLike(backward_.Borrow(forward_.At(outer(id))));
    WEIR_RETURN_IF_ERROR(carried.Begin(zeros, {id, 0}, outer(id), /*is_sum=*/true).status());
  }
  WEIR_RETURN_IF_ERROR(sweep.Run(carried.xs()));
  WEIR_RETURN_IF_ERROR(carried.End(sweep, [&](Endpoint target, Value gradient) { Flow(target, gradient); }));
  WEIR_RETURN_IF_ERROR(inside.status());
  WEIR_RETURN_IF_ERROR(forward_.status());
  return backward_.status();
}

}  // namespace weir
