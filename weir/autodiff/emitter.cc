#include "weir/autodiff/emitter.h"

namespace weir {
namespace {

// Fills in the attributes that the tensors of an argument determine.
Status InferAttrs(const OpSchema& schema, const ArgSchema& arg, const std::vector<Value>& values, AttrMap& attrs) {
  auto set = [&](const std::string& name, Attribute value) {
    if (attrs.Find(name) == nullptr) attrs.Set(name, std::move(value));
  };
  if (!arg.type_list_attr.empty()) {
    AttrList types;
    for (const Value& value : values) types.type.push_back(value.dtype());
    set(arg.type_list_attr, Attribute(std::move(types)));
    return OkStatus();
  }
  if (!arg.number_attr.empty()) {
    set(arg.number_attr, static_cast<int64_t>(values.size()));
  } else if (values.size() != 1) {
    return Internal("Input '", arg.name, "' of ", schema.name, " was given ", values.size(), " tensors");
  }
  if (!arg.type_attr.empty() && !values.empty()) set(arg.type_attr, values[0].dtype());
  return OkStatus();
}

}  // namespace

DType Value::dtype() const { return emitter_ != nullptr ? emitter_->dtype(*this) : DType::kInvalid; }
PartialShape Value::shape() const { return emitter_ != nullptr ? emitter_->shape(*this) : PartialShape(); }
Tensor Value::constant() const { return emitter_ != nullptr ? emitter_->constant(*this) : Tensor(); }

GradientValue GradientValue::Sparse(Value values, Value indices, Value dense_shape) {
  GradientValue out;
  out.values = values;
  out.indices = indices;
  out.dense_shape = dense_shape;
  return out;
}

DType Emitter::dtype(Value value) const {
  const Value* borrowed = Borrowed(value);
  return borrowed != nullptr ? borrowed->dtype() : OwnDType(value);
}
PartialShape Emitter::shape(Value value) const {
  const Value* borrowed = Borrowed(value);
  return borrowed != nullptr ? borrowed->shape() : OwnShape(value);
}
Tensor Emitter::constant(Value value) const {
  const Value* borrowed = Borrowed(value);
  return borrowed != nullptr ? borrowed->constant() : OwnConstant(value);
}

std::vector<ResourceHandle::DTypeAndShape> Emitter::handle_data(Value value) const {
  const Value* borrowed = Borrowed(value);
  return borrowed != nullptr ? borrowed->emitter().handle_data(*borrowed) : OwnHandleData(value);
}

Value Emitter::Borrow(Value value) {
  if (!value || &value.emitter() == this) return value;
  for (size_t i = 0; i < borrowed_.size(); ++i) {
    if (borrowed_[i] == value) return Value(this, -2 - static_cast<int32_t>(i), 0);
  }
  borrowed_.push_back(value);
  imported_.emplace_back();
  return Value(this, -1 - static_cast<int32_t>(borrowed_.size()), 0);
}

StatusOr<Value> Emitter::Own(Value value) {
  value = Borrow(value);
  const Value* borrowed = Borrowed(value);
  if (borrowed == nullptr) return value;
  const size_t slot = static_cast<size_t>(-2 - value.node());
  if (!imported_[slot]) {
    // Import may borrow more values and so reallocate the tables.
    WEIR_ASSIGN_OR_RETURN(Value own, Import(*borrowed));
    imported_[slot] = own;
  }
  return imported_[slot];
}

void Emitter::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

StatusOr<std::vector<Value>> Emitter::TryOutputs(std::string_view op, const EmitArguments& inputs, AttrMap attrs) {
  WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, FindSchema(op));
  if (inputs.size() != schema->inputs.size()) {
    return Internal(op, " takes ", schema->inputs.size(), " arguments, ", inputs.size(), " were given");
  }
  if (op == "Shape" || op == "Size" || op == "Rank") {
    // Compute these in the other emitter and import the result, not the value itself.
    if (const Value* borrowed = Borrowed(Borrow(inputs[0].values[0]))) {
      Value x = *borrowed;
      WEIR_ASSIGN_OR_RETURN(std::vector<Value> outputs, x.emitter().TryOutputs(op, {x}, std::move(attrs)));
      return std::vector<Value>{Borrow(outputs[0])};
    }
  }
  std::vector<Value> flat;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const Value& value : inputs[i].values) {
      if (!value) return Internal("Input '", schema->inputs[i].name, "' of ", op, " is empty");
      WEIR_ASSIGN_OR_RETURN(Value own, Own(value));
      flat.push_back(own);
    }
    WEIR_RETURN_IF_ERROR(InferAttrs(*schema, schema->inputs[i], inputs[i].values, attrs));
  }
  return AddOp(*schema, std::move(flat), std::move(attrs));
}

Values Emitter::Outputs(std::string_view op, const EmitArguments& inputs, AttrMap attrs) {
  if (!status_.ok()) return {};
  StatusOr<std::vector<Value>> outputs = TryOutputs(op, inputs, std::move(attrs));
  if (outputs.ok()) return *std::move(outputs);
  Fail(Annotate(outputs.status(), Cat("While adding ", op, ": ")));
  return {};
}

Values Emitter::Outputs(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs) {
  AttrMap map;
  for (const auto& [name, value] : attrs) map.Set(name, value);
  return Outputs(op, inputs, std::move(map));
}

Value Emitter::Op(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs) {
  return Outputs(op, inputs, attrs)[0];
}

Value Emitter::Constant(Tensor value) {
  DType dtype = value.dtype();
  return Op("Const", {}, {{"dtype", dtype}, {"value", std::move(value)}});
}

}  // namespace weir
