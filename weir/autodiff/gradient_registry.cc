#include "weir/autodiff/gradient_registry.h"

#include "weir/autodiff/emit.h"

namespace weir {

GradientContext::GradientContext(Emitter& emitter, std::string_view op, const AttrMap& attrs, std::vector<Value> inputs,
                                 std::vector<Value> outputs, std::vector<GradientValue> grads)
    : emitter_(emitter),
      op_(op),
      attrs_(attrs),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      grads_(std::move(grads)) {
  grads_.resize(outputs_.size());
}

Value GradientContext::input(int i) const { return i >= 0 && i < num_inputs() ? inputs_[i] : Value(); }
Value GradientContext::output(int i) const { return i >= 0 && i < num_outputs() ? outputs_[i] : Value(); }

Value GradientContext::grad(int i) {
  GradientValue& grad = grads_[i];
  if (grad.is_none()) {
    grad = emit::ZerosLike(emitter_.Borrow(outputs_[i]));
  } else if (grad.is_sparse()) {
    grad = emit::Densify(grad);
  }
  return grad.dense;
}

Values GradientContext::OutputsLike(std::string_view op, const EmitArguments& inputs,
                                    const std::vector<std::string_view>& attr_names, EmitAttrs more) {
  AttrMap attrs;
  for (std::string_view name : attr_names) {
    if (const Attribute* value = attrs_.Find(name)) attrs.Set(name, *value);
  }
  for (const auto& [name, value] : more) attrs.Set(name, value);
  return emitter_.Outputs(op, inputs, std::move(attrs));
}

void GradientRegistry::Add(std::string_view op, GradientFunction function) {
  absl::MutexLock lock(&mu_);
  functions_[std::string(op)] = std::move(function);
}

void GradientRegistry::NotDifferentiable(std::initializer_list<std::string_view> ops) {
  absl::MutexLock lock(&mu_);
  for (std::string_view op : ops) functions_[std::string(op)] = nullptr;
}

GradientRegistry::Kind GradientRegistry::KindOf(std::string_view op) const {
  absl::MutexLock lock(&mu_);
  auto found = functions_.find(op);
  if (found == functions_.end()) return Kind::kUnknown;
  return found->second ? Kind::kFunction : Kind::kNotDifferentiable;
}

GradientFunction GradientRegistry::Find(std::string_view op) const {
  absl::MutexLock lock(&mu_);
  auto found = functions_.find(op);
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace weir
