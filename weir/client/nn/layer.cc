#include "weir/client/nn/layer.h"

#include <algorithm>
#include <cmath>

#include "weir/client/operators.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::nn {
namespace {

class FunctionLayer : public Layer {
 public:
  using Body = std::function<Output(Context&, const std::vector<Output>&)>;
  FunctionLayer(Body body, const std::string& name, const std::string& type)
      : Layer(name, type), body_(std::move(body)) {}
  Output Call(Context& context, const std::vector<Output>& inputs) const override { return body_(context, inputs); }

 private:
  Body body_;
};

Output Gelu(const Scope& scope, const Output& x) { return 0.5 * x * (1 + ops::Erf(scope, x * std::sqrt(0.5))); }

}  // namespace

Regularizer L1(double factor) {
  return [=](const Scope& scope, const Output& value) { return factor * Sum(scope, ops::Abs(scope, value)); };
}
Regularizer L2(double factor) {
  return [=](const Scope& scope, const Output& value) { return factor * Sum(scope, ops::Square(scope, value)); };
}

std::string Context::NameOf(const Layer& layer) {
  std::string& name = state_->names[&layer];
  if (name.empty()) {
    std::string full = path_.empty() ? layer.name() : Cat(path_, "/", layer.name());
    int& count = state_->used_names[full];
    name = count == 0 ? full : Cat(full, "_", count);
    ++count;
  }
  return name;
}

Output Context::operator()(const LayerPtr& layer, const std::vector<Output>& inputs) {
  if (layer == nullptr || inputs.empty()) {
    scope_.Fail(InvalidArgument("a layer is null, or is called without inputs"));
    return Output(scope_, {});
  }
  if (layer->name().empty()) return layer->Call(*this, inputs);
  Context inside = *this;
  inside.path_ = NameOf(*layer);
  inside.depth_ = depth_ + 1;
  const std::string& base = scope_.prefix();
  // Below the phase's own scope, the layer's path: "train/dense/...".
  const std::string local = path_.empty() ? inside.path_ : inside.path_.substr(path_.size() + 1);
  inside.scope_ = scope_.WithPrefix(base.empty() ? local : Cat(base, "/", local));
  int64_t before = 0, after = 0;
  for (const Variable& v : state_->ordered) before += v.shape().num_elements();
  Output out = layer->Call(inside, inputs);
  for (const Variable& v : state_->ordered) after += v.shape().num_elements();
  if (depth_ == 0) shared_->calls.push_back({inside.path_, layer->type(), out.shape(), after - before});
  return out;
}

Context Context::Recomputed() const {
  Context inside = *this;
  inside.scope_ = scope_.WithRecomputation();
  return inside;
}

Variable Context::GetVariable(const std::string& name, const Shape& shape, const Initializer& initializer,
                              const Regularizer& regularizer, const VariableOptions& options, DType dtype) {
  const std::string full = path_.empty() ? name : Cat(path_, "/", name);
  auto found = state_->variables.find(full);
  if (found == state_->variables.end()) {
    VariableOptions own = options;
    if (state_->is_copy) own.trainable = own.saved = false;
    const std::string prefix =
        Cat(state_->root.prefix(), state_->root.prefix().empty() || path_.empty() ? "" : "/", path_);
    const Scope below = state_->root.WithPrefix(prefix);
    int64_t parts = 1;
    if (own.trainable && shape.rank() > 0 && state_->partitioner) {
      parts = std::min<int64_t>(state_->partitioner(shape, dtype), shape.dim(0));  // none without rows
    }
    Variable variable =
        parts > 1 ? Variable::Partitioned(below, name, shape, initializer, dtype, own, static_cast<int>(parts))
                  : Variable(below, name, shape, initializer, dtype, own);
    found = state_->variables.emplace(full, variable).first;
    if (variable.parts().empty()) state_->ordered.push_back(variable);
    state_->ordered.insert(state_->ordered.end(), variable.parts().begin(), variable.parts().end());
  } else if (found->second.shape() != shape) {
    scope_.Fail(InvalidArgument("variable '", full, "' has shape ", found->second.shape().ToString(),
                                ", but is now requested with shape ", shape.ToString()));
  }
  if (regularizer) AddLoss(regularizer(scope_.SubScope(name + "_regularizer"), found->second));
  return found->second;
}

LayerPtr FunctionOfMany(std::function<Output(Context&, const std::vector<Output>&)> function, const std::string& name,
                        const std::string& type) {
  return std::make_shared<FunctionLayer>(std::move(function), name, type);
}

LayerPtr Function(std::function<Output(Context&, const Output&)> function, const std::string& name) {
  return FunctionOfMany([=](Context& context, const std::vector<Output>& x) { return function(context, x[0]); }, name);
}

LayerPtr Sequential(std::vector<LayerPtr> layers) {
  return FunctionOfMany([layers = std::move(layers)](Context& context, const std::vector<Output>& inputs) {
    std::vector<Output> x = inputs;
    for (const LayerPtr& layer : layers) x = {context(layer, x)};
    return x[0];
  });
}

LayerPtr Recomputed(LayerPtr layer) {
  return FunctionOfMany([layer = std::move(layer)](Context& context, const std::vector<Output>& inputs) {
    Context inside = context.Recomputed();
    const Output out = inside(layer, inputs);
    return Output(context.scope(), out.endpoint());  // what is made of it is not part of the block
  });
}

Output Activation::operator()(const Scope& scope, const Output& x) const {
  if (function_) return function_(scope, x);
  if (name_.empty() || name_ == "linear") return x;
  if (name_ == "relu") return ops::Relu(scope, x);
  if (name_ == "relu6") return ops::Relu6(scope, x);
  if (name_ == "elu") return ops::Elu(scope, x);
  if (name_ == "selu") return ops::Selu(scope, x);
  if (name_ == "gelu") return Gelu(scope, x);
  if (name_ == "leaky_relu") return ops::LeakyRelu(scope, x, {.alpha = 0.2f});
  if (name_ == "sigmoid") return ops::Sigmoid(scope, x);
  if (name_ == "tanh") return ops::Tanh(scope, x);
  if (name_ == "softmax") return ops::Softmax(scope, x);
  if (name_ == "softplus") return ops::Softplus(scope, x);
  if (name_ == "softsign") return ops::Softsign(scope, x);
  if (name_ == "swish") return x * ops::Sigmoid(scope, x);
  if (name_ == "hard_sigmoid") return ops::Relu6(scope, x + 3) / 6;
  scope.Fail(NotFound("there is no activation '", name_, "'"));
  return x;
}

}  // namespace weir::nn
