// Recurrent layers, laid out step by step.
#include <algorithm>

#include "weir/client/nn/layer_shapes.h"
#include "weir/client/nn/layers.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::nn {
namespace {

// One step of a cell: from what the step's input contributes and the states, new states; the first one is the output.
using Cell = std::function<std::vector<Output>(const Output& projected, const std::vector<Output>& states)>;

// The inputs of all steps times `kernel` in one product, cut into steps.
std::vector<Output> Project(const Scope& scope, const Output& x, const Output& kernel, const Output* bias,
                            int64_t features, int64_t steps, int64_t width) {
  Output flat = ops::MatMul(scope, ops::Reshape(scope, x, {int64_t{-1}, features}), kernel);
  if (bias != nullptr) flat = ops::BiasAdd(scope, flat, *bias);
  return ops::Unpack(scope, ops::Reshape(scope, flat, {int64_t{-1}, steps, width}), steps, {.axis = 1});
}

Output Run(const Scope& scope, const Output& x, std::vector<Output> inputs, int num_states, int64_t units,
           const RecurrentOptions& options, const Cell& cell) {
  if (options.go_backwards) std::reverse(inputs.begin(), inputs.end());
  Output size = ops::Pack(scope, InputList{DimSize(scope, x, 0), static_cast<int32_t>(units)});
  Output zeros =
      ops::EnsureShape(scope, ops::Fill(scope, size, Constant(scope, 0.0f)), PartialShape({x.shape().dim(0), units}));
  std::vector<Output> states(num_states, zeros), outputs;
  for (const Output& input : inputs) {
    states = cell(input, states);
    outputs.push_back(states[0]);
  }
  return options.return_sequences ? ops::Pack(scope, outputs, {.axis = 1}) : states[0];
}

// True if the input is a sequence of known length.
bool IsSequence(const Scope& scope, const Output& x, const char* layer) {
  if (!HasRank(scope, x, 3, layer)) return false;
  if (x.shape().dim(1) >= 1) return true;
  scope.Fail(InvalidArgument("layer ", layer, " needs a sequence of known length, not ", x.shape().ToString()));
  return false;
}

std::string NameOr(const RecurrentOptions& options, const char* name) {
  return options.name.empty() ? name : options.name;
}

// Ones for the gate that forgets.
Initializer ForgetBias(int64_t units) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) {
    std::vector<float> values(shape.num_elements(), 0.0f);
    std::fill(values.begin() + units, values.begin() + 2 * units, 1.0f);
    return Constant(scope, Input(values), dtype);
  };
}

}  // namespace

LayerPtr LSTM(int64_t units, const RecurrentOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        if (!IsSequence(scope, x, "LSTM")) return x;
        const int64_t features = Channels(scope, x, "LSTM");
        Variable kernel = context.GetVariable("kernel", Shape({features, 4 * units}), options.kernel_initializer);
        Variable recurrent =
            context.GetVariable("recurrent_kernel", Shape({units, 4 * units}), options.recurrent_initializer);
        Variable bias = context.GetVariable("bias", Shape({4 * units}),
                                            options.unit_forget_bias ? ForgetBias(units) : init::Zeros());
        Cell cell = [&](const Output& projected, const std::vector<Output>& states) {
          Output gates = projected + ops::MatMul(scope, states[0], recurrent.value());
          std::vector<Output> parts = ops::Split(scope, 1, gates, 4);  // in, forget, cell, out
          if (parts.size() != 4) return states;
          const Activation& gate = options.recurrent_activation;
          Output memory =
              gate(scope, parts[1]) * states[1] + gate(scope, parts[0]) * options.activation(scope, parts[2]);
          Output out = gate(scope, parts[3]) * options.activation(scope, memory);
          return std::vector<Output>{out, memory};
        };
        const Output& bias_value = bias;
        std::vector<Output> steps = Project(scope, x, kernel, &bias_value, features, x.shape().dim(1), 4 * units);
        return Run(scope, x, std::move(steps), 2, units, options, cell);
      },
      NameOr(options, "lstm"), "LSTM");
}

LayerPtr GRU(int64_t units, const RecurrentOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        if (!IsSequence(scope, x, "GRU")) return x;
        const int64_t features = Channels(scope, x, "GRU");
        Variable kernel = context.GetVariable("kernel", Shape({features, 3 * units}), options.kernel_initializer);
        Variable recurrent =
            context.GetVariable("recurrent_kernel", Shape({units, 3 * units}), options.recurrent_initializer);
        // One bias for the input's half, one for the state's: the reset gate acts after the product.
        Variable bias = context.GetVariable("bias", Shape({2, 3 * units}), init::Zeros());
        std::vector<Output> biases = ops::Unpack(scope, bias.value(), 2);
        if (biases.size() != 2) return x;
        Cell cell = [&](const Output& projected, const std::vector<Output>& states) {
          const Output& state = states[0];
          Output product = ops::BiasAdd(scope, ops::MatMul(scope, state, recurrent.value()), biases[1]);
          std::vector<Output> a = ops::Split(scope, 1, projected, 3), b = ops::Split(scope, 1, product, 3);
          if (a.size() != 3 || b.size() != 3) return states;
          const Activation& gate = options.recurrent_activation;
          Output keep = gate(scope, a[0] + b[0]), reset = gate(scope, a[1] + b[1]);
          Output proposal = options.activation(scope, a[2] + reset * b[2]);
          return std::vector<Output>{keep * state + (1 - keep) * proposal};
        };
        std::vector<Output> steps = Project(scope, x, kernel, &biases[0], features, x.shape().dim(1), 3 * units);
        return Run(scope, x, std::move(steps), 1, units, options, cell);
      },
      NameOr(options, "gru"), "GRU");
}

LayerPtr SimpleRNN(int64_t units, const RecurrentOptions& options) {
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        const Output& x = inputs[0];
        if (!IsSequence(scope, x, "SimpleRNN")) return x;
        const int64_t features = Channels(scope, x, "SimpleRNN");
        Variable kernel = context.GetVariable("kernel", Shape({features, units}), options.kernel_initializer);
        Variable recurrent =
            context.GetVariable("recurrent_kernel", Shape({units, units}), options.recurrent_initializer);
        const Output bias = context.GetVariable("bias", Shape({units}), init::Zeros());
        Cell cell = [&](const Output& projected, const std::vector<Output>& states) {
          return std::vector<Output>{
              options.activation(scope, projected + ops::MatMul(scope, states[0], recurrent.value()))};
        };
        std::vector<Output> steps = Project(scope, x, kernel, &bias, features, x.shape().dim(1), units);
        return Run(scope, x, std::move(steps), 1, units, options, cell);
      },
      NameOr(options, "simple_rnn"), "SimpleRNN");
}

LayerPtr Bidirectional(const std::function<LayerPtr(bool go_backwards)>& make, bool sequences) {
  LayerPtr forward = make(false), backward = make(true);
  return FunctionOfMany(
      [=](Context& context, const std::vector<Output>& inputs) {
        const Scope& scope = context.scope();
        Output a = context(forward, inputs), b = context(backward, inputs);
        if (sequences) b = ops::ReverseV2(scope, b, {1});  // into the order of time
        return ops::ConcatV2(scope, InputList{a, b}, -1);
      },
      "bidirectional", "Bidirectional");
}

}  // namespace weir::nn
