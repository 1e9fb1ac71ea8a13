// The gradient of a loop of Enter, Merge, Switch, NextIteration and Exit: Sweep::DifferentiateLoop.
#include <algorithm>

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

}  // namespace

Status Sweep::DifferentiateLoop(const RegionUnit& unit) {
  const LoopFrame& frame = frames_.frames[unit.frame];
  WEIR_ASSIGN_OR_RETURN(Loop loop, FindLoop(graph_, frames_, unit.frame));
  WEIR_ASSIGN_OR_RETURN(Region body, Region::Make(graph_, frames_, unit.frame));
  auto outer = [&](NodeId enter) { return graph_.node(enter)->inputs[0]; };

  // What may change with the xs: a variable from its start, or from a variable or constant in the body.
  std::vector<NodeId> sources;
  for (NodeId id : loop.constants) {
    if (IsReached(outer(id))) sources.push_back(id);
  }
  std::vector<bool> active(loop.variables.size());
  for (size_t i = 0; i < active.size(); ++i) {
    active[i] = IsReached(outer(loop.variables[i].enter));
    if (active[i]) sources.push_back(loop.variables[i].turn);
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> dependent = Dependents(graph_, body, sources);
    for (size_t i = 0; i < active.size(); ++i) {
      const Node& next = *graph_.node(loop.variables[i].next);
      if (active[i] || !dependent[next.inputs[0].node] || !emit::IsTrainable(next.output_type(0))) continue;
      active[i] = changed = true;
      sources.push_back(loop.variables[i].turn);
    }
  }

  const std::string outer_scope = backward_.scope();
  backward_.set_scope(Cat(outer_scope.empty() ? "" : outer_scope + "/", frame.name, "_grad"));
  LoopBuilder forward_builder(forward_, frame.name, frame.parallel_iterations);
  forward_builder.set_condition(frame.loop_cond);
  LoopForward inside(forward_, body, std::move(forward_builder));
  inside.set_scope(backward_.scope());
  const std::string forward_scope = forward_.scope();
  forward_.set_scope(backward_.scope());

  // What is added to the start of the forward loop runs when the loop does.
  const Node* first_enter = graph_.node(loop.variables.empty() ? unit.enters[0] : loop.variables[0].enter);
  if (region_.frame() != 0 || !region_.GuardsOf(first_enter->inputs[0]).empty()) {
    AttrMap attrs;
    attrs.Set("T", BaseType(graph_.type(first_enter->inputs[0])));
    WEIR_ASSIGN_OR_RETURN(Node * start, forward_.AddNode("Identity", {first_enter->inputs[0]}, std::move(attrs)));
    inside.set_start(start->id);
  }
  WEIR_ASSIGN_OR_RETURN(Endpoint count, inside.Count());
  LoopBackward back(
      backward_, inside,
      LoopBuilder(backward_, graph_.UniqueName(Cat(backward_.scope(), "/frame")), frame.parallel_iterations));
  back.set_scope(backward_.scope());
  Endpoint turns = backward_.ToEndpoint(backward_.Borrow(forward_.At(count)));
  WEIR_RETURN_IF_ERROR(backward_.status());
  WEIR_RETURN_IF_ERROR(back.Begin(turns));

  // Variables of the backward loop: the gradient of each active one, and a sum for each constant.
  struct Carried {
    Endpoint x;       // in the body
    Endpoint target;  // outside
    LoopVariable variable;
  };
  std::vector<Carried> flows;
  Sweep sweep(settings_, frames_, body, inside, back);
  auto begin = [&](Value initial, Endpoint x, Endpoint target) -> StatusOr<Endpoint> {
    Endpoint start = backward_.ToEndpoint(initial);
    WEIR_RETURN_IF_ERROR(backward_.status());
    WEIR_ASSIGN_OR_RETURN(LoopVariable variable, back.builder().Begin(start));
    WEIR_RETURN_IF_ERROR(back.builder().Turn(&variable));
    flows.push_back({x, target, variable});
    return Endpoint{variable.turn, 1};
  };
  std::vector<Endpoint> xs;
  for (size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    const LoopVariable& variable = loop.variables[i];
    GradientValue flow;
    if (variable.exit != kNoNode && !stops_.contains(Endpoint{variable.exit, 0})) flow = Total({variable.exit, 0});
    Value like =
        backward_.Borrow(forward_.At(variable.exit != kNoNode ? Endpoint{variable.exit, 0} : outer(variable.enter)));
    WEIR_ASSIGN_OR_RETURN(Endpoint seed, begin(flow.is_none() ? emit::ZerosLike(like) : emit::Densify(flow),
                                               {variable.turn, 1}, outer(variable.enter)));
    sweep.Seed(graph_.node(variable.next)->inputs[0], back.At(seed));
    xs.push_back({variable.turn, 1});
  }
  const size_t num_variables = flows.size();
  for (NodeId id : loop.constants) {
    if (!IsReached(outer(id))) continue;
    WEIR_RETURN_IF_ERROR(begin(emit::ZerosLike(backward_.Borrow(forward_.At(outer(id)))), {id, 0}, outer(id)).status());
    xs.push_back({id, 0});
  }
  WEIR_RETURN_IF_ERROR(sweep.Run(xs));
  for (size_t i = 0; i < flows.size(); ++i) {
    LoopVariable& variable = flows[i].variable;
    Value before = back.At({variable.turn, 1});
    Value total = emit::Densify(sweep.Total(flows[i].x));
    if (i >= num_variables) {
      total = total ? emit::operator+(before, total) : before;
    } else if (!total) {
      total = back.Op("ZerosLike", {before});
    }
    Endpoint next = back.ToEndpoint(total);
    WEIR_RETURN_IF_ERROR(back.status());
    WEIR_RETURN_IF_ERROR(back.builder().End(&variable, next));
    Flow(flows[i].target, backward_.At({variable.exit, 0}));
  }
  WEIR_RETURN_IF_ERROR(inside.status());
  WEIR_RETURN_IF_ERROR(forward_.status());
  backward_.set_scope(outer_scope);
  forward_.set_scope(forward_scope);
  return backward_.status();
}

}  // namespace weir
