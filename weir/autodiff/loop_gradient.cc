// The gradient of a loop of Enter, Merge, Switch, NextIteration and Exit: Sweep::DifferentiateLoop.
//
// The backward loop carries the gradient of each active variable: one that depends on an x, and that a gradient can
// flow through. It starts with the gradient of the variable's Exit. In each iteration, the carried gradient is that of
// the input of NextIteration; a sweep over the body turns it into the gradient of the variable's value at the beginning
// of that iteration, which is carried to the iteration before. After the last one it is the gradient of the initial
// value. A loop invariant contributes to every iteration, so the loop carries the sum of its gradients, starting with
// zeros. LoopBackward fetches the forward values that the sweep needs (loop_emitter.h).
#include <algorithm>

#include "absl/functional/function_ref.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/loop_emitter.h"
#include "weir/autodiff/sweep.h"

namespace weir {
namespace {

// The variables and invariants of a forward loop.
struct Loop {
  std::vector<LoopVariable> variables;
  std::vector<NodeId> constants;  // the Enter nodes of invariants
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
    if (variable.enter == kNoNode || variable.next == kNoNode) continue;  // belongs to a conditional
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

// By node: whether a node of the body depends on one of `sources`.
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

// For each variable, whether it depends on something that is reached outside the loop: through its initial value, or
// through an invariant or another active variable in the body. Repeated until nothing changes, because one iteration
// after the other may make further variables active.
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

// The variables of a backward loop: the gradient of each active variable and the gradient sum of each invariant.
class CarriedGradients {
 public:
  // `outside` emits into the region that contains the loop. REQUIRES: both outlive this object.
  CarriedGradients(GraphEmitter& outside, LoopBackward& back) : outside_(outside), back_(back) {}

  // Adds the gradient of `x`, a tensor of the forward body. It starts with `initial`; after the loop it is a gradient
  // of `target`. Returns its value in the body.
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
  // Closes the loop with the gradients that the sweep over the body computed, and calls `flow` with each target and its
  // gradient after the loop.
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

// Adds a node that runs when the loop is entered. Nodes that initialize added loop variables wait for it.
StatusOr<NodeId> AddStart(const Graph& graph, const Node& enter, GraphEmitter& forward) {
  AttrMap attrs;
  attrs.Set("T", BaseType(graph.type(enter.inputs[0])));
  WEIR_ASSIGN_OR_RETURN(Node * start, forward.AddNode("Identity", {enter.inputs[0]}, std::move(attrs)));
  return start->id;
}

// Sets the scope of an emitter and restores the old one at the end.
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
  // Initial values that are added to the forward loop must be computed where the loop is: in the same iteration of an
  // outer loop, and only if the branch around the loop is taken.
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
