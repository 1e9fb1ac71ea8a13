#include "weir/client/op_call.h"

#include "weir/client/eager_execute_internal.h"
#include "weir/client/scope_internal.h"

namespace weir {

OpCall::OpCall(const Scope& scope, const char* op) : scope_(scope), op_(op) {
  StatusOr<const OpSchema*> schema = scope.graph().FindSchema(op);
  if (schema.ok()) {
    schema_ = *schema;
  } else {
    scope.Fail(schema.status());
  }
}

// In a function's body tensors of the graph around become inputs of the function, and so do tensors that exist.
Input OpCall::Own(const Input& input) const {
  if (scope_.place()->frame != nullptr) return input;
  if (input.is_literal()) {
    if (!input.eager().has_value()) return input;
    Output captured = scope_.state()->Import(input.eager());
    return captured.has_value() ? Input(captured) : input;
  }
  if (!input.output().has_value() || input.output().scope().state() == scope_.state()) return input;
  Output imported = scope_.state()->Import(input.output());
  return imported.has_value() ? Input(imported) : input;
}

// An input that holds an error passes it on.
Input OpCall::Checked(const Input& input) {
  if (!input.eager().ok()) scope_.Fail(input.eager().status());
  return Own(input);
}

OpCall& OpCall::Add(const Input& input) {
  arguments_.push_back({{Checked(input)}, false});
  return *this;
}

OpCall& OpCall::Add(const InputList& list) {
  arguments_.push_back({{}, true});
  for (const Input& input : list.inputs()) arguments_.back().inputs.push_back(Checked(input));
  return *this;
}

OpCall& OpCall::SetAny(std::string_view name, Attribute value) {
  attrs_.Set(name, std::move(value));
  return *this;
}

#define WEIR_SET_LIST(type, field)                                              \
  OpCall& OpCall::Set(std::string_view name, const std::vector<type>& values) { \
    AttrList list;                                                              \
    list.field = values;                                                        \
    return SetAny(name, Attribute(std::move(list)));                            \
  }
WEIR_SET_LIST(std::string, s)
WEIR_SET_LIST(int64_t, i)
WEIR_SET_LIST(float, f)
WEIR_SET_LIST(bool, b)
WEIR_SET_LIST(DType, type)
WEIR_SET_LIST(PartialShape, shape)
WEIR_SET_LIST(Tensor, tensor)
WEIR_SET_LIST(FunctionAttr, func)
#undef WEIR_SET_LIST

// The type attribute of an argument from the first input whose type is sure.
void OpCall::InferType(const ArgSchema& arg, std::span<const Input> inputs) {
  if (arg.type_attr.empty() || attrs_.Find(arg.type_attr) != nullptr) return;
  for (const Input& input : inputs) {
    if (!input.is_weak()) return attrs_.Set(arg.type_attr, input.natural_dtype());
  }
}

Status OpCall::InferAttrs() {
  if (arguments_.size() != schema_->inputs.size()) {
    return InvalidArgument(op_, " takes ", schema_->inputs.size(), " arguments, not ", arguments_.size());
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArgSchema& arg = schema_->inputs[i];
    const Argument& given = arguments_[i];
    if (given.is_list != (!arg.number_attr.empty() || !arg.type_list_attr.empty())) {
      return InvalidArgument("argument '", arg.name, "' of ", op_,
                             given.is_list ? " takes one tensor" : " takes a list");
    }
    for (const Input& input : given.inputs) {
      if (!input.is_literal() && !input.output().has_value()) {
        return InvalidArgument("argument '", arg.name, "' of ", op_, " has no value");
      }
      if (!input.is_literal() && input.output().scope().state() != scope_.state()) {
        return InvalidArgument("argument '", arg.name, "' of ", op_, " is of another graph");
      }
    }
    InferType(arg, given.inputs);
    if (!arg.number_attr.empty()) attrs_.Set(arg.number_attr, static_cast<int64_t>(given.inputs.size()));
    if (!arg.type_list_attr.empty()) {
      std::vector<DType> types;
      for (const Input& input : given.inputs) types.push_back(input.natural_dtype());
      Set(arg.type_list_attr, types);
    }
  }
  // What only literals can say: the attribute's default if there is one, else the literal's own type.
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArgSchema& arg = schema_->inputs[i];
    if (arg.type_attr.empty() || attrs_.Find(arg.type_attr) != nullptr) continue;
    const AttrSchema* attr = schema_->FindAttr(arg.type_attr);
    if (attr != nullptr && attr->default_value) continue;
    if (!arguments_[i].inputs.empty()) attrs_.Set(arg.type_attr, arguments_[i].inputs[0].natural_dtype());
  }
  return OkStatus();
}

StatusOr<DType> OpCall::TypeOf(const ArgSchema& arg, const Input& literal) const {
  if (arg.type != DType::kInvalid) return arg.type;
  if (arg.type_attr.empty()) return literal.natural_dtype();
  const Attribute* value = attrs_.Find(arg.type_attr);
  if (value == nullptr) {
    const AttrSchema* attr = schema_->FindAttr(arg.type_attr);
    if (attr != nullptr && attr->default_value) value = &*attr->default_value;
  }
  const DType* dtype = value != nullptr ? value->get_if<DType>() : nullptr;
  if (dtype == nullptr) return Internal("no type for argument '", arg.name, "' of ", op_);
  return *dtype;
}

StatusOr<std::vector<Endpoint>> OpCall::Resolve(const std::string& node_name) {
  std::vector<Endpoint> out;
  const Scope constants = scope_.WithPrefix(node_name);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArgSchema& arg = schema_->inputs[i];
    for (const Input& input : arguments_[i].inputs) {
      Output output = input.output();
      if (input.is_literal()) {
        WEIR_ASSIGN_OR_RETURN(DType dtype, TypeOf(arg, input));
        StatusOr<Tensor> value = input.ValueAs(dtype);
        if (!value.ok()) return Annotate(value.status(), Cat("Node '", node_name, "', argument '", arg.name, "': "));
        output = Constant(constants.WithName(arg.name), Input(*std::move(value)));
        WEIR_RETURN_IF_ERROR(scope_.status());
      }
      out.push_back(output.endpoint());
    }
  }
  return out;
}

Status OpCall::AddToGraph() {
  WEIR_RETURN_IF_ERROR(InferAttrs());
  const Scope unnamed = scope_.WithoutName();
  const ScopePlace* place = scope_.place();
  // The engine's own ops begin with '_', names of nodes do not.
  const char* const op_name = op_[0] == '_' ? op_ + 1 : op_;
  std::string name = unnamed.UniqueName(place->name.empty() ? op_name : place->name);
  WEIR_ASSIGN_OR_RETURN(std::vector<Endpoint> inputs, Resolve(name));
  Graph::NodeSpec spec{.name = std::move(name), .op = op_, .attrs = std::move(attrs_), .inputs = std::move(inputs)};
  ScopeState* state = scope_.state();
  const bool is_ordered = state->orders_effects && schema_->is_stateful;
  if (is_ordered && state->last_effect != kNoNode) spec.control_inputs.push_back(state->last_effect);
  node_ = scope_.AddNode(std::move(spec));
  if (is_ordered && node_ != kNoNode) state->last_effect = node_;
  return OkStatus();
}

Status OpCall::RunNow() {
  WEIR_RETURN_IF_ERROR(InferAttrs());
  std::vector<EagerTensor> inputs;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    for (const Input& input : arguments_[i].inputs) {
      if (!input.is_literal()) return InvalidArgument("a traced tensor is used outside the function that is traced");
      if (input.eager().has_value()) {
        inputs.push_back(input.eager());
        continue;
      }
      WEIR_ASSIGN_OR_RETURN(DType dtype, TypeOf(schema_->inputs[i], input));
      StatusOr<Tensor> value = input.ValueAs(dtype);
      if (!value.ok()) {
        return Annotate(value.status(), Cat(op_, ", argument '", schema_->inputs[i].name, "': "));
      }
      inputs.push_back(*std::move(value));
    }
  }
  EagerFrame* frame = scope_.place()->frame;
  WEIR_ASSIGN_OR_RETURN(EagerRun run, ExecuteEagerly(*schema_, std::move(inputs), std::move(attrs_)));
  frame->outputs = std::move(run.outputs);
  frame->attrs = std::move(run.attrs);
  return OkStatus();
}

Operation OpCall::Finish() {
  const bool now = scope_.place()->frame != nullptr;
  if (!finished_ && scope_.ok() && schema_ != nullptr) {
    Status status = now ? RunNow() : AddToGraph();
    if (!status.ok()) scope_.Fail(status);
  }
  finished_ = true;
  return now ? Operation() : Operation(scope_, node_);
}

Output OpCall::Single() {
  Finish();
  if (scope_.place()->frame != nullptr) return Output(nullptr, {0, 0});
  return Output(scope_, {node_, 0});
}

Output OpCall::One(int index) {
  std::vector<Output> tensors = List(index);
  if (!tensors.empty()) return tensors[0];
  return scope_.place()->frame != nullptr ? Output(nullptr, {}) : Output(scope_, {});
}

std::vector<Output> OpCall::List(int index) {
  Finish();
  std::vector<Output> out;
  const EagerFrame* frame = scope_.place()->frame;
  if (frame != nullptr ? !frame->status.ok() : node_ == kNoNode) return out;
  const AttrMap& attrs = frame != nullptr ? *frame->attrs : scope_.graph().node(node_)->attrs;
  StatusOr<ArgRange> range = ResolveArgRange(schema_->outputs, attrs, index);
  if (!range.ok()) return scope_.Fail(range.status()), out;
  for (int i = range->begin; i < range->end; ++i) {
    out.push_back(frame != nullptr ? Output(nullptr, {0, i}) : Output(scope_, {node_, i}));
  }
  return out;
}

}  // namespace weir
