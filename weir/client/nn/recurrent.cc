// Recurrent layers: short sequences are laid out step by step, long ones are a loop.
#include <algorithm>

#include "weir/client/control_flow.h"
#include "weir/client/nn/layer_shapes.h"
#include "weir/client/nn/layers.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/ops/queue_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::nn {
namespace {

// One step of a cell: from what the step's input contributes and the states, new states; the first one is the output.
using Cell =
    std::function<std::vector<Output>(const Scope& scope, const Output& projected, const std::vector<Output>& states)>;

// The inputs of all steps times `kernel` in one product: [batch, steps, width].
Output Project(const Scope& scope, const Output& x, const Output& kernel, const Output* bias, int64_t features,
               int64_t width) {
  Output flat = ops::MatMul(scope, ops::Reshape(scope, x, {int64_t{-1}, features}), kernel);
  if (bias != nullptr) flat = ops::BiasAdd(scope, flat, *bias);
  const int64_t steps = x.shape().dim(1);
  if (steps >= 0) return ops::Reshape(scope, flat, {int64_t{-1}, steps, width});
  Output shape = ops::Pack(scope, InputList{DimSize(scope, x, 0), DimSize(scope, x, 1), static_cast<int32_t>(width)});
  return ops::EnsureShape(scope, ops::Reshape(scope, flat, shape), PartialShape({x.shape().dim(0), -1, width}));
}

std::vector<Output> FirstStates(const Scope& scope, const Output& x, int count, int64_t units) {
  Output size = ops::Pack(scope, InputList{DimSize(scope, x, 0), static_cast<int32_t>(units)});
  Output zeros =
      ops::EnsureShape(scope, ops::Fill(scope, size, Constant(scope, 0.0f)), PartialShape({x.shape().dim(0), units}));
  return std::vector<Output>(count, zeros);
}

Output Unrolled(const Scope& scope, const Output& projected, std::vector<Output> states,
                const RecurrentOptions& options, const Cell& cell) {
  std::vector<Output> inputs = ops::Unpack(scope, projected, projected.shape().dim(1), {.axis = 1}), outputs;
  if (options.go_backwards) std::reverse(inputs.begin(), inputs.end());
  for (const Output& input : inputs) {
    states = cell(scope, input, states);
    outputs.push_back(states[0]);
  }
  return options.return_sequences ? ops::Pack(scope, outputs, {.axis = 1}) : states[0];
}

// Counter, states and, if all outputs are wanted, a list of them go round.
Output Looped(const Scope& scope, const Output& projected, const std::vector<Output>& states, int64_t units,
              const RecurrentOptions& options, const Cell& cell) {
  Output rows = ops::Transpose(scope, projected, {1, 0, 2});
  if (options.go_backwards) rows = ops::ReverseV2(scope, rows, {0});
  Output count = DimSize(scope, rows, 0);
  std::vector<Output> values = {Constant(scope, 0, DType::kInt32)};
  values.insert(values.end(), states.begin(), states.end());
  if (options.return_sequences) {
    values.push_back(ops::TensorListReserve(scope, Constant(scope, -1, DType::kInt32), count, DType::kFloat));
  }
  const size_t end = 1 + states.size();
  std::vector<Output> last = While(
      scope, values, [&](const Scope&, const std::vector<Output>& v) { return v[0] < count; },
      [&](const Scope& inside, const std::vector<Output>& v) {
        Output row = ops::GatherV2(inside, rows, v[0], Constant(inside, 0, DType::kInt32));
        std::vector<Output> next = {v[0] + 1};
        for (Output& state : cell(inside, row, {v.begin() + 1, v.begin() + end})) next.push_back(std::move(state));
        if (options.return_sequences) next.push_back(ops::TensorListSetItem(inside, v[end], v[0], next[1]));
        return next;
      });
  if (!options.return_sequences) return last[1];
  Output shape = Constant(scope, {int64_t{-1}, units}, DType::kInt32);
  Output outputs = ops::Transpose(scope, ops::TensorListStack(scope, last[end], shape, DType::kFloat), {1, 0, 2});
  return ops::EnsureShape(scope, outputs, PartialShape({projected.shape().dim(0), projected.shape().dim(1), units}));
}

Output RunCell(const Scope& scope, const Output& x, const Output& projected, int num_states, int64_t units,
               const RecurrentOptions& options, const Cell& cell) {
  std::vector<Output> states = FirstStates(scope, x, num_states, units);
  const int64_t steps = x.shape().dim(1);
  if (steps >= 1 && steps <= options.unroll_up_to) return Unrolled(scope, projected, std::move(states), options, cell);
  return Looped(scope, projected, states, units, options, cell);
}

// True if the input is a sequence.
bool IsSequence(const Scope& scope, const Output& x, const char* layer) { return HasRank(scope, x, 3, layer); }

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
        Cell cell = [&](const Scope& scope, const Output& projected, const std::vector<Output>& states) {
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
        Output projected = Project(scope, x, kernel, &bias_value, features, 4 * units);
        return RunCell(scope, x, projected, 2, units, options, cell);
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
        Cell cell = [&](const Scope& scope, const Output& projected, const std::vector<Output>& states) {
          const Output& state = states[0];
          Output product = ops::BiasAdd(scope, ops::MatMul(scope, state, recurrent.value()), biases[1]);
          std::vector<Output> a = ops::Split(scope, 1, projected, 3), b = ops::Split(scope, 1, product, 3);
          if (a.size() != 3 || b.size() != 3) return states;
          const Activation& gate = options.recurrent_activation;
          Output keep = gate(scope, a[0] + b[0]), reset = gate(scope, a[1] + b[1]);
          Output proposal = options.activation(scope, a[2] + reset * b[2]);
          return std::vector<Output>{keep * state + (1 - keep) * proposal};
        };
        Output projected = Project(scope, x, kernel, &biases[0], features, 3 * units);
        return RunCell(scope, x, projected, 1, units, options, cell);
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
        Cell cell = [&](const Scope& scope, const Output& projected, const std::vector<Output>& states) {
          return std::vector<Output>{
              options.activation(scope, projected + ops::MatMul(scope, states[0], recurrent.value()))};
        };
        Output projected = Project(scope, x, kernel, &bias, features, units);
        return RunCell(scope, x, projected, 1, units, options, cell);
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
