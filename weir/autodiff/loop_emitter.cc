#include "weir/autodiff/loop_emitter.h"

#include <algorithm>

#include "weir/autodiff/emit.h"

namespace weir {
namespace {

AttrMap TypeAttr(DType dtype) {
  AttrMap attrs;
  attrs.Set("T", BaseType(dtype));
  return attrs;
}

}  // namespace

Tensor ElementShape(const PartialShape& shape) {
  if (!shape.has_rank()) return Tensor::Scalar<int32_t>(-1);
  return emit::IntsTensor(shape.dims());
}

StatusOr<Endpoint> LoopBuilder::Enter(Endpoint value, bool is_constant) {
  AttrMap attrs = TypeAttr(outside_.graph().type(value));
  attrs.Set("frame_name", frame_name_);
  attrs.Set("is_constant", is_constant);
  attrs.Set("parallel_iterations", parallel_iterations_);
  WEIR_ASSIGN_OR_RETURN(Node * node, outside_.AddNode("Enter", {value}, std::move(attrs)));
  return Endpoint{node->id, 0};
}

StatusOr<LoopVariable> LoopBuilder::Begin(Endpoint initial) {
  LoopVariable out;
  WEIR_ASSIGN_OR_RETURN(Endpoint enter, Enter(initial, false));
  out.enter = enter.node;
  AttrMap attrs = TypeAttr(outside_.graph().type(initial));
  attrs.Set("N", 2);
  WEIR_ASSIGN_OR_RETURN(Node * merge, outside_.AddNode("Merge", {enter, enter}, std::move(attrs)));
  out.merge = merge->id;
  return out;
}

Status LoopBuilder::Turn(LoopVariable* variable) {
  AttrMap attrs = TypeAttr(outside_.graph().type({variable->merge, 0}));
  WEIR_ASSIGN_OR_RETURN(Node * turn, outside_.AddNode("Switch", {{variable->merge, 0}, {loop_cond_, 0}}, attrs));
  variable->turn = turn->id;
  WEIR_ASSIGN_OR_RETURN(Node * exit, outside_.AddNode("Exit", {{turn->id, 0}}, std::move(attrs)));
  variable->exit = exit->id;
  return OkStatus();
}

Status LoopBuilder::End(LoopVariable* variable, Endpoint next) {
  WEIR_ASSIGN_OR_RETURN(Node * node, outside_.AddNode("NextIteration", {next}, TypeAttr(outside_.graph().type(next))));
  variable->next = node->id;
  outside_.graph().node(variable->merge)->inputs[1] = {node->id, 0};
  return OkStatus();
}

GuardedList::GuardedList(GraphEmitter& emitter, Value list, const std::vector<Value>& predicates,
                         const std::vector<int>& branches)
    : inside_(list) {
  for (size_t i = 0; i < predicates.size(); ++i) {
    Values sides = emitter.Outputs("Switch", {inside_, predicates[i]});
    inside_ = sides[branches[i]];
    others_.push_back(sides[1 - branches[i]]);
  }
}

Value GuardedList::Leave(Value changed) const {
  for (size_t i = others_.size(); i-- > 0 && changed;) {
    changed = changed.emitter().Op("Merge", {std::vector<Value>{changed, others_[i]}});
  }
  return changed;
}

std::vector<Guard> LoopForward::GuardsOf(Endpoint tensor) const {
  auto added = guards_.find(tensor.node);
  return added != guards_.end() ? added->second : region_.GuardsOf(tensor);
}

StatusOr<std::vector<Value>> LoopForward::AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) {
  std::vector<Guard> guards;
  for (const Value& input : inputs) {
    for (const Guard& guard : GuardsOf({input.node(), input.index()})) {
      if (std::ranges::find(guards, guard) == guards.end()) guards.push_back(guard);
    }
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<Value> outputs, GraphEmitter::AddOp(schema, std::move(inputs), std::move(attrs)));
  if (!outputs.empty()) guards_[outputs[0].node()] = std::move(guards);
  return outputs;
}

StatusOr<Endpoint> LoopForward::StartConstant(Tensor value) {
  AttrMap attrs;
  attrs.Set("dtype", value.dtype());
  attrs.Set("value", std::move(value));
  std::vector<NodeId> after;
  if (start_ != kNoNode) after.push_back(start_);
  WEIR_ASSIGN_OR_RETURN(Node * node, outside_.AddNode("Const", {}, std::move(attrs), std::move(after)));
  return Endpoint{node->id, 0};
}

StatusOr<Endpoint> LoopForward::Collect(Endpoint value) {
  const DType dtype = BaseType(graph().type(value));
  WEIR_ASSIGN_OR_RETURN(Endpoint shape, StartConstant(ElementShape(shapes().Of(value).shape)));
  WEIR_ASSIGN_OR_RETURN(Endpoint no_limit, StartConstant(Tensor::Scalar<int32_t>(-1)));
  AttrMap attrs;
  attrs.Set("element_dtype", dtype);
  attrs.Set("shape_type", DType::kInt32);
  WEIR_ASSIGN_OR_RETURN(Node * empty, outside_.AddNode("EmptyTensorList", {shape, no_limit}, std::move(attrs)));
  WEIR_ASSIGN_OR_RETURN(LoopVariable list, builder_.Begin({empty->id, 0}));
  WEIR_RETURN_IF_ERROR(builder_.Turn(&list));
  std::vector<Value> predicates;
  std::vector<int> branches;
  for (const Guard& guard : GuardsOf(value)) {
    predicates.push_back(At(guard.first));
    branches.push_back(guard.second);
  }
  GuardedList guarded(*this, At({list.turn, 1}), predicates, branches);
  Value longer = Op("TensorListPushBack", {guarded.inside(), At(value)}, {{"element_dtype", dtype}});
  Endpoint next = ToEndpoint(guarded.Leave(longer));
  WEIR_RETURN_IF_ERROR(status());
  WEIR_RETURN_IF_ERROR(builder_.End(&list, next));
  return Endpoint{list.exit, 0};
}

StatusOr<Endpoint> LoopForward::Count() {
  WEIR_ASSIGN_OR_RETURN(Endpoint zero, StartConstant(Tensor::Scalar<int32_t>(0)));
  WEIR_ASSIGN_OR_RETURN(Endpoint one, StartConstant(Tensor::Scalar<int32_t>(1)));
  WEIR_ASSIGN_OR_RETURN(Endpoint step, builder_.Enter(one, /*is_constant=*/true));
  WEIR_ASSIGN_OR_RETURN(LoopVariable counter, builder_.Begin(zero));
  WEIR_RETURN_IF_ERROR(builder_.Turn(&counter));
  WEIR_ASSIGN_OR_RETURN(Node * sum, AddNode("AddV2", {{counter.turn, 1}, step}, TypeAttr(DType::kInt32)));
  WEIR_RETURN_IF_ERROR(builder_.End(&counter, {sum->id, 0}));
  set_pivot(sum->id);
  return Endpoint{counter.exit, 0};
}

Status LoopBackward::Begin(Endpoint count) {
  Endpoint zero = outside_.ToEndpoint(outside_.Constant(Tensor::Scalar<int32_t>(0)));
  Endpoint one = outside_.ToEndpoint(outside_.Constant(Tensor::Scalar<int32_t>(1)));
  WEIR_RETURN_IF_ERROR(outside_.status());
  WEIR_ASSIGN_OR_RETURN(zero, builder_.Enter(zero, /*is_constant=*/true));
  WEIR_ASSIGN_OR_RETURN(one, builder_.Enter(one, /*is_constant=*/true));
  WEIR_ASSIGN_OR_RETURN(LoopVariable counter, builder_.Begin(count));
  WEIR_ASSIGN_OR_RETURN(Node * more, AddNode("Greater", {{counter.merge, 0}, zero}, TypeAttr(DType::kInt32)));
  WEIR_ASSIGN_OR_RETURN(Node * condition, AddNode("LoopCond", {{more->id, 0}}, {}));
  builder_.set_condition(condition->id);
  WEIR_RETURN_IF_ERROR(builder_.Turn(&counter));
  WEIR_ASSIGN_OR_RETURN(Node * less, AddNode("Sub", {{counter.turn, 1}, one}, TypeAttr(DType::kInt32)));
  WEIR_RETURN_IF_ERROR(builder_.End(&counter, {less->id, 0}));
  set_pivot(less->id);
  return OkStatus();
}

StatusOr<Value> LoopBackward::Import(Value foreign) {
  Endpoint tensor{foreign.node(), foreign.index()};
  if (&foreign.emitter() == &forward_) {
    const Node& node = *forward_.graph().node(tensor.node);
    if (IsConstant(node)) {
      WEIR_ASSIGN_OR_RETURN(Tensor value, node.Attr<Tensor>("value"));
      return Constant(std::move(value));
    }
    const bool handed_in = IsEnter(node) && node.Attr<bool>("is_constant").value_or(false);
    if (!handed_in) {
      WEIR_ASSIGN_OR_RETURN(Endpoint taken, TakeFromList(tensor));
      return At(taken);
    }
    foreign = forward_.outside().At(node.inputs[0]);
  }
  Endpoint outside = outside_.ToEndpoint(outside_.Borrow(foreign));
  WEIR_RETURN_IF_ERROR(outside_.status());
  WEIR_ASSIGN_OR_RETURN(Endpoint inside, builder_.Enter(outside, /*is_constant=*/true));
  return At(inside);
}

StatusOr<Endpoint> LoopBackward::TakeFromList(Endpoint forward_value) {
  const DType dtype = BaseType(forward_.graph().type(forward_value));
  WEIR_ASSIGN_OR_RETURN(Endpoint collected, forward_.Collect(forward_value));
  Endpoint initial = outside_.ToEndpoint(outside_.Borrow(forward_.outside().At(collected)));
  WEIR_RETURN_IF_ERROR(outside_.status());
  WEIR_ASSIGN_OR_RETURN(LoopVariable list, builder_.Begin(initial));
  WEIR_RETURN_IF_ERROR(builder_.Turn(&list));
  std::vector<Value> predicates;
  std::vector<int> branches;
  for (const Guard& guard : forward_.GuardsOf(forward_value)) {
    predicates.push_back(Borrow(forward_.At(guard.first)));
    branches.push_back(guard.second);
  }
  GuardedList guarded(*this, At({list.turn, 1}), predicates, branches);
  Value shape = Constant(ElementShape(forward_.shapes().Of(forward_value).shape));
  Values taken = Outputs("TensorListPopBack", {guarded.inside(), shape}, {{"element_dtype", dtype}});
  Endpoint next = ToEndpoint(guarded.Leave(taken[0]));
  WEIR_RETURN_IF_ERROR(status());
  WEIR_RETURN_IF_ERROR(builder_.End(&list, next));
  return Endpoint{taken[1].node(), taken[1].index()};
}

}  // namespace weir
