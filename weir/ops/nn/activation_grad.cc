// Gradients of activations, and of their gradient ops (dy, features) -> dx.
#include "weir/autodiff/emit.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The op of what flows in and the output (or the input).
void AddFromOutput(GradientRegistry& r, std::string_view op, const char* gradient_op) {
  r.Add(op, [gradient_op](G& g) -> Gradients { return {g.Op(gradient_op, {g.grad(), g.output(0)})}; });
}

// Of gradient ops that are linear in dy and constant in the features almost everywhere.
void AddPiecewise(GradientRegistry& r, const char* op) {
  r.Add(op, [op](G& g) -> Gradients {
    return {g.OpLike(op, {g.grad(), g.input(1)}, {"alpha"}), ZerosLike(g.input(1))};
  });
}

// Of gradient ops whose features are outputs of an exponential below zero.
void AddExponential(GradientRegistry& r, const char* op) {
  r.Add(op, [op](G& g) -> Gradients {
    Value y = g.input(1), flow = g.grad();
    Value below = Binary("Less", y, Scalar(y, 0));
    return {g.Op(op, {flow, y}), Select(below, flow * g.input(0), ZerosLike(y))};
  });
}

void AddAll(GradientRegistry& r) {
  AddFromOutput(r, "Relu", "ReluGrad");
  AddFromOutput(r, "Relu6", "Relu6Grad");
  AddFromOutput(r, "Elu", "EluGrad");
  AddFromOutput(r, "Selu", "SeluGrad");
  AddPiecewise(r, "ReluGrad");
  AddPiecewise(r, "Relu6Grad");
  AddPiecewise(r, "LeakyReluGrad");
  AddExponential(r, "EluGrad");
  AddExponential(r, "SeluGrad");
  r.Add("LeakyRelu", [](G& g) -> Gradients { return {g.OpLike("LeakyReluGrad", {g.grad(), g.input(0)}, {"alpha"})}; });
  r.Add("Softplus", [](G& g) -> Gradients { return {g.grad() * Unary("Sigmoid", g.input(0))}; });
  r.Add("SoftplusGrad", [](G& g) -> Gradients {
    Value x = g.input(1), flow = g.grad();
    Value spread = Unary("Exp", -x) + 2.0 + Unary("Exp", x);
    return {g.Op("SoftplusGrad", {flow, x}), flow * g.input(0) / spread};
  });
  r.Add("Softsign", [](G& g) -> Gradients { return {g.Op("SoftsignGrad", {g.grad(), g.input(0)})}; });
  r.Add("Softmax", [](G& g) -> Gradients {
    Value y = g.output(0), flow = g.grad();
    return {(flow - Sum(flow * y, {-1}, /*keep_dims=*/true)) * y};
  });
  r.Add("LogSoftmax", [](G& g) -> Gradients {
    Value flow = g.grad();
    return {flow - Sum(flow, {-1}, /*keep_dims=*/true) * Unary("Exp", g.output(0))};
  });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterActivationGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
