#include "weir/client/variable.h"

#include "weir/client/ops/control_flow_ops.h"
#include "weir/client/ops/state_ops.h"
#include "weir/client/scope_internal.h"

namespace weir {
namespace {

constexpr char kVariablesKey[] = "variables";

bool IsBelow(const std::string& name, const std::string& prefix) {
  return prefix.empty() || (name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] == '/');
}

}  // namespace

// What a graph keeps of its variables: nothing that holds the graph, which would then keep itself alive.
struct Variable::Registration {
  std::weak_ptr<Data> data;  // of those who hold the variable, if anybody does
  Data values;               // without nodes
  Endpoint handle, value;
  NodeId initializer;
  ScopePlace place;  // without its state
};

std::vector<Variable::Registration>& Variable::Registered(const Scope& scope) {
  std::shared_ptr<void>& slot = scope.state()->extras[kVariablesKey];
  if (slot == nullptr) slot = std::make_shared<std::vector<Registration>>();
  return *static_cast<std::vector<Registration>*>(slot.get());
}

Variable Variable::FromRegistration(const Scope& scope, Registration& registration) {
  Variable out;
  out.data_ = registration.data.lock();
  if (out.data_ != nullptr) return out;
  auto place = std::make_shared<ScopePlace>(registration.place);
  place->state = scope.place()->state;
  const Scope made_in(std::move(place));
  out.data_ = std::make_shared<Data>(registration.values);
  out.data_->handle = Output(made_in, registration.handle);
  out.data_->value = Output(made_in, registration.value);
  out.data_->initializer = Operation(made_in, registration.initializer);
  registration.data = out.data_;
  return out;
}

Variable::Variable(const Scope& scope, std::string_view name, const Shape& shape, const Initializer& initializer,
                   DType dtype, const VariableOptions& options)
    : data_(std::make_shared<Data>()) {
  data_->shape = shape;
  data_->dtype = dtype;
  std::string full = scope.UniqueName(name);
  const Scope here = scope.WithoutControlDependencies();
  Build(here, full, initializer(here.WithPrefix(full + "/Initializer"), shape, dtype), options);
}

Variable::Variable(const Scope& scope, std::string_view name, const Input& initial_value,
                   const VariableOptions& options)
    : data_(std::make_shared<Data>()) {
  std::string full = scope.UniqueName(name);
  Output initial = Constant(scope.WithPrefix(full).WithName("initial_value"), initial_value);
  data_->dtype = initial.dtype();
  if (auto shape = initial.shape().ToShape()) {
    data_->shape = *shape;
  } else if (initial.has_value()) {
    scope.Fail(InvalidArgument("the shape of the initial value of variable '", full, "' is not known"));
  }
  Build(scope, full, initial, options);
}

void Variable::Build(const Scope& scope, std::string name, const Output& initial_value,
                     const VariableOptions& options) {
  data_->name = name;
  data_->options = options;
  AttrMap attrs;
  attrs.Set("dtype", data_->dtype);
  attrs.Set("shape", data_->shape);
  attrs.Set("shared_name", name);
  data_->handle = Output(scope, {scope.AddNode({.name = name, .op = "VarHandleOp", .attrs = std::move(attrs)}), 0});
  const Scope below = scope.WithPrefix(name);
  data_->initializer = ops::AssignVariableOp(below.WithName("Assign"), data_->handle, initial_value);
  data_->value =
      ops::ReadVariableOp(scope.WithoutControlDependencies().WithPrefix(name + "/Read"), data_->handle, data_->dtype);
  // Operators on a variable belong to the scope that made it, not below its own name.
  data_->value = Output(scope, data_->value.endpoint());
  Registration registration{.data = data_,
                            .values = *data_,
                            .handle = data_->handle.endpoint(),
                            .value = data_->value.endpoint(),
                            .initializer = data_->initializer.node_id(),
                            .place = *scope.place()};
  registration.values.handle = registration.values.value = Output();
  registration.values.initializer = Operation();
  registration.place.state = nullptr;
  Registered(scope).push_back(std::move(registration));
}

Variable Variable::FromHandle(const Scope& scope, std::string name, const Output& handle, const Shape& shape,
                              DType dtype) {
  Variable out;
  out.data_ = std::make_shared<Data>(
      Data{.name = std::move(name), .dtype = dtype, .shape = shape, .options = {.saved = false}, .handle = handle});
  out.data_->value = out.Read(scope);
  return out;
}

Output Variable::Read(const Scope& scope) const { return ops::ReadVariableOp(scope, data_->handle, data_->dtype); }

Operation Variable::Assign(const Scope& scope, const Input& value) const {
  return ops::AssignVariableOp(scope, data_->handle,
                               Constant(scope, value, value.is_literal() ? dtype() : DType::kInvalid));
}
Operation Variable::AssignAdd(const Scope& scope, const Input& value) const {
  return ops::AssignAddVariableOp(scope, data_->handle,
                                  Constant(scope, value, value.is_literal() ? dtype() : DType::kInvalid));
}
Operation Variable::AssignSub(const Scope& scope, const Input& value) const {
  return ops::AssignSubVariableOp(scope, data_->handle,
                                  Constant(scope, value, value.is_literal() ? dtype() : DType::kInvalid));
}

std::vector<Variable> Variables(const Scope& scope) {
  std::vector<Variable> out;
  for (Variable::Registration& registration : Variable::Registered(scope)) {
    if (!IsBelow(registration.values.name, scope.prefix())) continue;
    out.push_back(Variable::FromRegistration(scope, registration));
  }
  return out;
}

std::vector<Variable> TrainableVariables(const Scope& scope) {
  std::vector<Variable> out;
  for (const Variable& variable : Variables(scope)) {
    if (variable.trainable()) out.push_back(variable);
  }
  return out;
}

Operation InitializeVariables(const Scope& scope) {
  std::vector<Operation> all;
  for (const Variable& variable : Variables(scope)) all.push_back(variable.initializer());
  return Group(scope.WithName("init"), all);
}

Operation Group(const Scope& scope, std::span<const Operation> operations) {
  return ops::NoOp(scope.WithControlDependencies(operations));
}

}  // namespace weir
