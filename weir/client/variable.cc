#include "weir/client/variable.h"

#include <algorithm>

#include "weir/base/strings.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/control_flow_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/state_ops.h"
#include "weir/client/scope_internal.h"

namespace weir {
namespace {

constexpr char kVariablesKey[] = "variables";

// Rows that are divided among parts as evenly as possible, in order.
struct RowsOfParts {
  int64_t rows;
  int64_t parts;
  int64_t quotient() const { return rows / parts; }
  int64_t remainder() const { return rows % parts; }
  int64_t begin(int64_t part) const { return part * quotient() + std::min(part, remainder()); }
};

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

Variable Variable::Partitioned(const Scope& scope, std::string_view name, const Shape& shape,
                               const Initializer& initializer, DType dtype, const VariableOptions& options, int parts) {
  Variable out;
  out.data_ = std::make_shared<Data>();
  Data& data = *out.data_;
  data.name = scope.UniqueName(name);
  data.dtype = dtype;
  data.shape = shape;
  data.options = options;
  const Scope inside = scope.WithPrefix(data.name).WithoutName();
  const RowsOfParts rows{shape.dim(0), parts};
  std::vector<Output> values;
  std::vector<Operation> initializers;
  for (int i = 0; i < parts; ++i) {
    Shape own = shape;
    scope.Fail(own.SetDim(0, rows.begin(i + 1) - rows.begin(i)));
    Variable part(inside, Cat("part_", i), own, initializer, dtype, options);
    part.data_->part_of = {data.name, shape, rows.begin(i)};
    for (Registration& registration : Registered(scope)) {
      if (registration.handle == part.handle().endpoint()) registration.values.part_of = part.data_->part_of;
    }
    values.push_back(part.value());
    initializers.push_back(part.initializer());
    data.parts.push_back(std::move(part));
  }
  data.value = Output(scope, ops::ConcatV2(inside.WithoutControlDependencies(), values, 0).endpoint());
  data.initializer = Group(inside.WithName("Assign"), initializers);
  return out;
}

Output Variable::Read(const Scope& scope) const {
  if (parts().empty()) return ops::ReadVariableOp(scope, data_->handle, data_->dtype);
  std::vector<Output> values;
  for (const Variable& part : parts()) values.push_back(part.Read(scope));
  return ops::ConcatV2(scope, values, 0);
}

Output Variable::Gather(const Scope& scope, const Output& indices) const {
  if (parts().empty()) return ops::ResourceGather(scope, data_->handle, indices, data_->dtype);
  const Scope inside = scope.SubScope("gather");
  const int count = static_cast<int>(parts().size());
  const RowsOfParts rows{shape().dim(0), count};
  const Output flat = ops::Cast(inside, ops::Reshape(inside, indices, {-1}), DType::kInt64);
  const auto number = [&](int64_t value) { return Constant(inside, Tensor::Scalar(value)); };
  // The first parts have one row more than the others. An index that no row has belongs to no part either, which
  // DynamicPartition reports.
  const Output part = ops::Maximum(inside, ops::FloorDiv(inside, flat, number(rows.quotient() + 1)),
                                   ops::FloorDiv(inside, flat - number(rows.remainder()), number(rows.quotient())));
  const Output parts32 = ops::Cast(inside, part, DType::kInt32);
  const std::vector<Output> asked = ops::DynamicPartition(inside, flat, parts32, count);
  const Output positions = ops::Range(inside, Constant(inside, Tensor::Scalar<int32_t>(0)), ops::Size(inside, flat),
                                      Constant(inside, Tensor::Scalar<int32_t>(1)));
  const std::vector<Output> places = ops::DynamicPartition(inside, positions, parts32, count);
  std::vector<Output> found;
  for (int i = 0; i < count; ++i) found.push_back(parts()[i].Gather(inside, asked[i] - number(rows.begin(i))));
  const Output stitched = ops::DynamicStitch(inside, places, found);
  const std::vector<int64_t> sizes(shape().dims().begin() + 1, shape().dims().end());
  const Output row = Constant(inside, Tensor::Vector<int64_t>(std::span<const int64_t>(sizes)));
  const Output outer = ops::Shape(inside, indices, {.out_type = DType::kInt64});
  return ops::Reshape(inside, stitched, ops::ConcatV2(inside, {outer, row}, 0));
}

Operation Variable::Change(const Scope& scope, const Input& value, Changer change) const {
  const Output tensor = Constant(scope, value, value.is_literal() ? dtype() : DType::kInvalid);
  if (parts().empty()) return change(scope, data_->handle, tensor);
  std::vector<Operation> changes;
  for (const Variable& part : parts()) {
    std::vector<int64_t> begin(shape().rank(), 0);
    begin[0] = part.part_of().first_row;
    const Output rows =
        ops::Slice(scope, tensor, Constant(scope, Tensor::Vector<int64_t>(std::span<const int64_t>(begin))),
                   Constant(scope, Tensor::Vector<int64_t>(part.shape().dims())));
    changes.push_back(change(scope, part.handle(), rows));
  }
  return Group(scope, changes);
}

Operation Variable::Assign(const Scope& scope, const Input& value) const {
  return Change(scope, value, [](const Scope& s, const Output& handle, const Output& tensor) -> Operation {
    return ops::AssignVariableOp(s, handle, tensor);
  });
}
Operation Variable::AssignAdd(const Scope& scope, const Input& value) const {
  return Change(scope, value, [](const Scope& s, const Output& handle, const Output& tensor) -> Operation {
    return ops::AssignAddVariableOp(s, handle, tensor);
  });
}
Operation Variable::AssignSub(const Scope& scope, const Input& value) const {
  return Change(scope, value, [](const Scope& s, const Output& handle, const Output& tensor) -> Operation {
    return ops::AssignSubVariableOp(s, handle, tensor);
  });
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
