// GradientRegistry: the gradient function of each op, by op name. A gradient function emits operations, so the same
// function works for graphs and tapes, and its result can be differentiated again.
//
//   registry.Add("Tanh", [](GradientContext& g) -> Gradients {
//     return {g.Op("TanhGrad", {g.output(0), g.grad(0)})};
//   });
#ifndef WEIR_AUTODIFF_GRADIENT_REGISTRY_H_
#define WEIR_AUTODIFF_GRADIENT_REGISTRY_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/autodiff/emitter.h"
#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

// What a gradient function works with: the forward op, the gradients of its outputs, and the emitter.
class GradientContext {
 public:
  // `grads` has one entry per output; it is none for outputs that do not influence the result.
  GradientContext(Emitter& emitter, std::string_view op, const AttrMap& attrs, std::vector<Value> inputs,
                  std::vector<Value> outputs, std::vector<GradientValue> grads);

  std::string_view op() const { return op_; }
  const AttrMap& attrs() const { return attrs_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Value input(int i) const;
  Value output(int i) const;
  const std::vector<Value>& inputs() const { return inputs_; }

  // True if output `i` has a gradient.
  bool has_grad(int i) const { return !grads_[i].is_none(); }
  // The gradient of output `i` as a dense tensor; zeros if there is none.
  Value grad(int i = 0);
  // The gradient of output `i` in its original form: dense, sparse or none.
  const GradientValue& raw_grad(int i = 0) const { return grads_[i]; }

  // An attribute of the forward op. If the attribute is missing or has another type, the emitter fails and the result
  // is T().
  template <typename T>
  T Attr(std::string_view name) {
    StatusOr<T> value = GetAttr<T>(attrs_, name);
    if (value.ok()) return *std::move(value);
    emitter_.Fail(value.status());
    return T();
  }

  Emitter& emitter() { return emitter_; }
  Value Op(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {}) {
    return emitter_.Op(op, inputs, attrs);
  }
  Values Outputs(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {}) {
    return emitter_.Outputs(op, inputs, attrs);
  }
  // Adds an op that copies the attributes named in `attr_names` from the forward op.
  Values OutputsLike(std::string_view op, const EmitArguments& inputs, const std::vector<std::string_view>& attr_names,
                     EmitAttrs more = {});
  Value OpLike(std::string_view op, const EmitArguments& inputs, const std::vector<std::string_view>& attr_names,
               EmitAttrs more = {}) {
    return OutputsLike(op, inputs, attr_names, more)[0];
  }
  void Fail(Status status) { emitter_.Fail(std::move(status)); }

 private:
  Emitter& emitter_;
  std::string_view op_;
  const AttrMap& attrs_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::vector<GradientValue> grads_;
};

// One gradient per flat input of the forward op. Missing trailing entries mean "no gradient".
using Gradients = std::vector<GradientValue>;
using GradientFunction = std::function<Gradients(GradientContext&)>;

// Thread-safe.
class GradientRegistry {
 public:
  GradientRegistry() = default;
  GradientRegistry(const GradientRegistry&) = delete;
  GradientRegistry& operator=(const GradientRegistry&) = delete;

  // Registers a gradient function. It replaces an earlier one for the same op.
  void Add(std::string_view op, GradientFunction function);
  // Declares that no gradient flows through these ops. Differentiating through them is not an error; the result is
  // none.
  void NotDifferentiable(std::initializer_list<std::string_view> ops);

  enum class Kind { kUnknown, kNotDifferentiable, kFunction };
  Kind KindOf(std::string_view op) const;
  // Empty unless KindOf(op) is kFunction.
  GradientFunction Find(std::string_view op) const;

 private:
  mutable absl::Mutex mu_;
  StringMap<GradientFunction> functions_ ABSL_GUARDED_BY(mu_);  // empty: not differentiable
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_GRADIENT_REGISTRY_H_
