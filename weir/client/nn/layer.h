// Layers: parts of a model that own variables.
//
// A layer is a function from tensors to tensors. It is called in a Context, which determines where nodes go and whether
// the call is for training, and which finds the layer's variables: the first call creates them, later calls reuse them.
// A layer of your own is a class with one method:
//
//   class Scale : public nn::Layer {
//    public:
//     Scale() : Layer("scale") {}
//     Output Call(nn::Context& context, const std::vector<Output>& x) const override {
//       return x[0] * context.GetVariable("factor", Shape(), init::Ones());
//     }
//   };
//
// or just a lambda: nn::Function([=](nn::Context& context, const Output& x) { return context(dense, x) + x; }).
#ifndef WEIR_CLIENT_NN_LAYER_H_
#define WEIR_CLIENT_NN_LAYER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/initializers.h"
#include "weir/client/variable.h"

namespace WEIR_PUBLIC weir {
namespace nn {

class Layer;
using LayerPtr = std::shared_ptr<const Layer>;

// A penalty on a variable, added to the loss.
using Regularizer = std::function<Output(const Scope& scope, const Output& value)>;
Regularizer L1(double factor = 0.01);
Regularizer L2(double factor = 0.01);

// State that all calls of the layers of one model share.
struct NetworkState {
  Scope root;  // for the variables
  std::map<std::string, Variable> variables;
  std::map<const Layer*, std::string> names;
  std::map<std::string, int> used_names;
  std::vector<Variable> ordered;
  Partitioner partitioner;  // of trained variables
  bool is_copy = false;     // copies of another state's variables on another device: neither trained directly nor saved
};

// A row of a model's summary.
struct LayerCall {
  std::string name;
  std::string type;
  PartialShape output;
  int64_t parameters = 0;
};

class Context {
 public:
  Context(std::shared_ptr<NetworkState> state, const Scope& scope, bool training)
      : state_(std::move(state)), scope_(scope), training_(training), shared_(std::make_shared<Shared>()) {}

  // The scope for the layer's nodes.
  const Scope& scope() const { return scope_; }
  bool training() const { return training_; }

  // Calls a layer; its nodes and variables get the layer's name.
  Output operator()(const LayerPtr& layer, const std::vector<Output>& inputs);
  Output operator()(const LayerPtr& layer, const Output& input) { return (*this)(layer, std::vector<Output>{input}); }

  // The same context, in whose scope results are computed again in the backward pass (Scope::WithRecomputation).
  Context Recomputed() const;

  // A variable of the layer that is being called.
  Variable GetVariable(const std::string& name, const Shape& shape, const Initializer& initializer,
                       const Regularizer& regularizer = nullptr, const VariableOptions& options = {},
                       DType dtype = DType::kFloat);
  // Adds a term to the loss.
  void AddLoss(const Output& loss) { shared_->losses.push_back(loss); }
  // Adds an operation that runs with every training step.
  void AddUpdate(const Operation& update) { shared_->updates.push_back(update); }

  const std::vector<Output>& losses() const { return shared_->losses; }
  const std::vector<Operation>& updates() const { return shared_->updates; }
  const std::vector<LayerCall>& calls() const { return shared_->calls; }

 private:
  struct Shared {
    std::vector<Output> losses;
    std::vector<Operation> updates;
    std::vector<LayerCall> calls;
  };
  std::string NameOf(const Layer& layer);

  std::shared_ptr<NetworkState> state_;
  Scope scope_;
  bool training_;
  std::string path_;  // of the layer that is being called
  int depth_ = 0;
  std::shared_ptr<Shared> shared_;
};

class Layer {
 public:
  // The name is made unique within a model: dense, dense_1. With an empty name the layer adds nothing to the names of
  // its nodes, for layers that only call others.
  explicit Layer(std::string name, std::string type = "") : name_(std::move(name)), type_(std::move(type)) {}
  virtual ~Layer() = default;
  virtual Output Call(Context& context, const std::vector<Output>& inputs) const = 0;

  const std::string& name() const { return name_; }
  // For the summary of a model.
  const std::string& type() const { return type_.empty() ? name_ : type_; }

 private:
  std::string name_;
  std::string type_;
};

// Makes a layer from a function.
LayerPtr Function(std::function<Output(Context&, const Output&)> function, const std::string& name = "");
LayerPtr FunctionOfMany(std::function<Output(Context&, const std::vector<Output>&)> function,
                        const std::string& name = "", const std::string& type = "");
// Calls the layers one after the other.
LayerPtr Sequential(std::vector<LayerPtr> layers);
// The layer as a block whose inner results are computed again in the backward pass instead of being kept, if the model
// is compiled with `recompute` (Scope::WithRecomputation).
LayerPtr Recomputed(LayerPtr layer);

// An activation, by name or as any function of a tensor. The default is the identity.
class Activation {
 public:
  Activation() = default;
  // linear, relu, relu6, elu, selu, gelu, leaky_relu, sigmoid, tanh, softmax, softplus, softsign, swish, hard_sigmoid.
  Activation(const char* name) : name_(name) {}
  Activation(std::function<Output(const Scope&, const Output&)> function) : function_(std::move(function)) {}
  Output operator()(const Scope& scope, const Output& x) const;

 private:
  std::string name_;
  std::function<Output(const Scope&, const Output&)> function_;
};

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_LAYER_H_
