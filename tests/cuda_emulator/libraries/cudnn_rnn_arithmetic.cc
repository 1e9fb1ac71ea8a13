#include <cmath>
#include <random>

#include "tests/cuda_emulator/libraries/cudnn_rnn.h"

namespace weir::cuda_emulator {
namespace {

using namespace cuda;

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// What the reserve holds: for each pseudo layer, step and sequence the gates, two more vectors (LSTM: the cell and its
// tanh; GRU: the recurrent part of the new memory), the state, and the gradients of the gates' two halves; for each
// layer its input and the dropout's factors.
class Reserve {
 public:
  Reserve(const CudnnRnnDescOpaque& rnn, int64_t time, int64_t batch, double* data)
      : rnn_(rnn), time_(time), batch_(batch), data_(data) {}

  int64_t StepSize() const { return (3 * rnn_.gates() + 3) * int64_t{rnn_.hidden}; }
  int64_t LayerSize(int layer) const { return time_ * batch_ * rnn_.InputSize(layer); }
  int64_t Count() const {
    int64_t count = rnn_.pseudo_layers() * time_ * batch_ * StepSize();
    for (int layer = 0; layer < rnn_.layers; ++layer) count += 2 * LayerSize(layer);
    return count;
  }
  double* Step(int pseudo, int64_t t, int64_t b) const {
    return data_ + ((pseudo * time_ + t) * batch_ + b) * StepSize();
  }
  double* Gate(int pseudo, int64_t t, int64_t b, int gate) const { return Step(pseudo, t, b) + gate * rnn_.hidden; }
  double* Extra(int pseudo, int64_t t, int64_t b, int which) const { return Gate(pseudo, t, b, rnn_.gates() + which); }
  double* State(int pseudo, int64_t t, int64_t b) const { return Extra(pseudo, t, b, 2); }
  double* InputGrad(int pseudo, int64_t t, int64_t b, int gate) const { return Extra(pseudo, t, b, 3 + gate); }
  double* StateGrad(int pseudo, int64_t t, int64_t b, int gate) const {
    return Extra(pseudo, t, b, 3 + rnn_.gates() + gate);
  }
  double* Input(int layer, int64_t t, int64_t b) const {
    return LayerStart(layer) + (t * batch_ + b) * rnn_.InputSize(layer);
  }
  double* Mask(int layer, int64_t t, int64_t b) const { return Input(layer, t, b) + LayerSize(layer); }

 private:
  double* LayerStart(int layer) const {
    double* start = data_ + rnn_.pseudo_layers() * time_ * batch_ * StepSize();
    for (int i = 0; i < layer; ++i) start += 2 * LayerSize(i);
    return start;
  }

  const CudnnRnnDescOpaque& rnn_;
  const int64_t time_, batch_;
  double* const data_;
};

// The weights of one pseudo layer.
class Weights {
 public:
  Weights(const RnnCall& call, int pseudo) {
    const int64_t hidden = call.rnn.hidden;
    for (int i = 0; i < 2 * call.rnn.gates(); ++i) {
      const RnnWeight at = FindRnnWeight(call.rnn, pseudo, i);
      Matrix matrix{std::vector<double>(static_cast<size_t>(hidden * at.columns)),
                    std::vector<double>(static_cast<size_t>(hidden)), at.columns};
      for (int64_t j = 0; at.matrix >= 0 && j < hidden * at.columns; ++j) {
        matrix.values[static_cast<size_t>(j)] = LoadElement<double>(call.element, call.weights, at.matrix + j);
      }
      for (int64_t j = 0; at.bias >= 0 && j < hidden; ++j) {
        matrix.bias[static_cast<size_t>(j)] = LoadElement<double>(call.element, call.weights, at.bias + j);
      }
      if (at.matrix < 0) {  // skip_input: the identity
        matrix.columns = hidden;
        matrix.values.assign(static_cast<size_t>(hidden * hidden), 0);
        for (int64_t j = 0; j < hidden; ++j) matrix.values[static_cast<size_t>(j * hidden + j)] = 1;
      }
      matrices_.push_back(std::move(matrix));
    }
  }
  // Row `row` of matrix i times v, and the bias.
  double Times(int i, int64_t row, const double* v) const {
    const Matrix& m = matrices_[static_cast<size_t>(i)];
    double sum = m.bias[static_cast<size_t>(row)];
    for (int64_t j = 0; j < m.columns; ++j) sum += m.values[static_cast<size_t>(row * m.columns + j)] * v[j];
    return sum;
  }
  void AddTransposed(int i, int64_t row, double factor, double* to) const {
    const Matrix& m = matrices_[static_cast<size_t>(i)];
    for (int64_t j = 0; j < m.columns; ++j) to[j] += factor * m.values[static_cast<size_t>(row * m.columns + j)];
  }

 private:
  struct Matrix {
    std::vector<double> values, bias;
    int64_t columns;
  };
  std::vector<Matrix> matrices_;
};

std::vector<double> LoadState(const RnnCall& call, const void* from, int pseudo, int64_t b) {
  std::vector<double> state(static_cast<size_t>(call.rnn.hidden));
  for (int64_t i = 0; from != nullptr && i < call.rnn.hidden; ++i) {
    state[static_cast<size_t>(i)] =
        LoadElement<double>(call.element, from, (pseudo * call.x_desc.batch + b) * int64_t{call.rnn.hidden} + i);
  }
  return state;
}
void StoreState(const RnnCall& call, const std::vector<double>& state, int pseudo, int64_t b, void* to) {
  for (int64_t i = 0; to != nullptr && i < call.rnn.hidden; ++i) {
    StoreElement(call.element, to, (pseudo * call.x_desc.batch + b) * int64_t{call.rnn.hidden} + i,
                 state[static_cast<size_t>(i)]);
  }
}

void ForwardStep(const RnnCall& call, const Weights& w, const Reserve& r, int pseudo, int64_t t, int64_t b,
                 const double* x, std::vector<double>& h, std::vector<double>& c) {
  const int gates = call.rnn.gates();
  for (int64_t i = 0; i < call.rnn.hidden; ++i) {
    const auto at = static_cast<size_t>(i);
    auto gate = [&](int which) { return w.Times(which, i, x) + w.Times(gates + which, i, h.data()); };
    auto keep = [&](int which, double value) { return r.Gate(pseudo, t, b, which)[i] = value; };
    double* state = r.State(pseudo, t, b) + i;
    if (call.rnn.mode == kCudnnLstm) {
      const double input = keep(0, Logistic(gate(0))), forget = keep(1, Logistic(gate(1)));
      const double memory = keep(2, std::tanh(gate(2))), output = keep(3, Logistic(gate(3)));
      const double cell = r.Extra(pseudo, t, b, 0)[i] = forget * c[at] + input * memory;
      *state = output * (r.Extra(pseudo, t, b, 1)[i] = std::tanh(cell));
    } else if (call.rnn.mode == kCudnnGru) {
      const double reset = keep(0, Logistic(gate(0))), update = keep(1, Logistic(gate(1)));
      const double recurrent = r.Extra(pseudo, t, b, 0)[i] = w.Times(gates + 2, i, h.data());
      const double memory = keep(2, std::tanh(w.Times(2, i, x) + reset * recurrent));
      *state = (1 - update) * memory + update * h[at];
    } else {
      const double value = gate(0);
      *state = keep(0, call.rnn.mode == kCudnnRnnRelu ? std::max(value, 0.0) : std::tanh(value));
    }
  }
  for (int64_t i = 0; i < call.rnn.hidden; ++i) {
    h[static_cast<size_t>(i)] = r.State(pseudo, t, b)[i];
    if (call.rnn.mode == kCudnnLstm) c[static_cast<size_t>(i)] = r.Extra(pseudo, t, b, 0)[i];
  }
}

// Steps of a sequence in the order of a direction.
template <typename Body>
void ForSteps(int length, bool backward, Body body) {
  for (int s = 0; s < length; ++s) body(backward ? length - 1 - s : s);
}

int LengthOf(const RnnCall& call, int64_t b) { return call.x_desc.lengths[static_cast<size_t>(b)]; }

}  // namespace

RnnWeight FindRnnWeight(const CudnnRnnDescOpaque& rnn, int pseudo_layer, int linear_layer) {
  const int linear_layers = 2 * rnn.gates();
  int64_t at = 0;
  RnnWeight found;
  for (int pseudo = 0; pseudo < rnn.pseudo_layers(); ++pseudo) {
    const int layer = pseudo / rnn.directions();
    for (int i = 0; i < linear_layers; ++i) {
      const bool is_input = i < rnn.gates();
      const bool is_missing = is_input && layer == 0 && rnn.skips_input;
      const int64_t columns = is_missing ? 0 : is_input ? rnn.InputSize(layer) : rnn.hidden;
      if (pseudo == pseudo_layer && i == linear_layer) {
        found.columns = columns;
        found.matrix = is_missing ? -1 : at;
      }
      at += columns * rnn.hidden;
    }
  }
  if (rnn.has_bias) found.bias = at + (int64_t{pseudo_layer} * linear_layers + linear_layer) * rnn.hidden;
  return found;
}

int64_t CountRnnWeights(const CudnnRnnDescOpaque& rnn) {
  const int linear_layers = 2 * rnn.gates();
  int64_t count = rnn.has_bias ? int64_t{rnn.pseudo_layers()} * linear_layers * rnn.hidden : 0;
  for (int pseudo = 0; pseudo < rnn.pseudo_layers(); ++pseudo) {
    for (int i = 0; i < linear_layers; ++i) count += FindRnnWeight(rnn, pseudo, i).columns * rnn.hidden;
  }
  return count;
}

int64_t CountRnnReserve(const CudnnRnnDescOpaque& rnn, int64_t time, int64_t batch) {
  return Reserve(rnn, time, batch, nullptr).Count();
}

void RunRnnForward(const RnnCall& call) {
  const CudnnRnnDescOpaque& rnn = call.rnn;
  const int64_t time = call.x_desc.time, batch = call.x_desc.batch, hidden = rnn.hidden;
  const Reserve r(rnn, time, batch, call.reserve);
  std::mt19937_64 generator(rnn.seed);
  std::bernoulli_distribution drops(rnn.dropout);
  for (int layer = 0; layer < rnn.layers; ++layer) {
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < LengthOf(call, b); ++t) {
        for (int64_t i = 0; i < rnn.InputSize(layer); ++i) {
          double value;
          if (layer == 0) {
            value = LoadElement<double>(call.element, call.x, call.x_desc.Offset(t, b) + i);
          } else {
            value = r.State((layer - 1) * rnn.directions() + static_cast<int>(i / hidden), t, b)[i % hidden];
          }
          double factor = 1;
          if (layer > 0 && call.training && rnn.dropout > 0) factor = drops(generator) ? 0 : 1 / (1 - rnn.dropout);
          r.Mask(layer, t, b)[i] = factor;
          r.Input(layer, t, b)[i] = value * factor;
        }
      }
    }
    for (int d = 0; d < rnn.directions(); ++d) {
      const int pseudo = layer * rnn.directions() + d;
      const Weights w(call, pseudo);
      for (int64_t b = 0; b < batch; ++b) {
        std::vector<double> h = LoadState(call, call.hx, pseudo, b), c = LoadState(call, call.cx, pseudo, b);
        ForSteps(LengthOf(call, b), d == 1,
                 [&](int t) { ForwardStep(call, w, r, pseudo, t, b, r.Input(layer, t, b), h, c); });
        StoreState(call, h, pseudo, b, call.hy);
        if (rnn.mode == kCudnnLstm) StoreState(call, c, pseudo, b, call.cy);
      }
    }
  }
  const int last = (rnn.layers - 1) * rnn.directions();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < time; ++t) {
      for (int64_t i = 0; i < hidden * rnn.directions(); ++i) {
        const bool is_padding = t >= LengthOf(call, b);
        StoreElement(call.element, call.y, call.y_desc.Offset(t, b) + i,
                     is_padding ? 0.0 : r.State(last + static_cast<int>(i / hidden), t, b)[i % hidden]);
      }
    }
  }
}

void RunRnnBackwardData(const RnnCall& call) {
  const CudnnRnnDescOpaque& rnn = call.rnn;
  const int64_t time = call.x_desc.time, batch = call.x_desc.batch, hidden = rnn.hidden;
  const int gates = rnn.gates(), directions = rnn.directions();
  const Reserve r(rnn, time, batch, call.reserve);
  // Gradients of the layers' outputs, [time, batch, hidden * directions].
  std::vector<double> output(static_cast<size_t>(time * batch * hidden * directions));
  auto output_at = [&](int64_t t, int64_t b) { return output.data() + (t * batch + b) * hidden * directions; };
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < LengthOf(call, b); ++t) {
      for (int64_t i = 0; i < hidden * directions; ++i) {
        output_at(t, b)[i] = LoadElement<double>(call.element, call.dy, call.y_desc.Offset(t, b) + i);
      }
    }
  }
  for (int layer = rnn.layers - 1; layer >= 0; --layer) {
    const int64_t inputs = rnn.skips_input && layer == 0 ? hidden : rnn.InputSize(layer);
    std::vector<double> below(static_cast<size_t>(time * batch * inputs));
    for (int d = 0; d < directions; ++d) {
      const int pseudo = layer * directions + d;
      const Weights w(call, pseudo);
      for (int64_t b = 0; b < batch; ++b) {
        std::vector<double> dh = LoadState(call, call.dhy, pseudo, b), dc = LoadState(call, call.dcy, pseudo, b);
        const std::vector<double> h0 = LoadState(call, call.hx, pseudo, b), c0 = LoadState(call, call.cx, pseudo, b);
        const int length = LengthOf(call, b);
        ForSteps(length, d == 0, [&](int t) {
          const int before = d == 0 ? t - 1 : t + 1;
          const bool is_first = before < 0 || before >= length;
          const double* h_prev = is_first ? h0.data() : r.State(pseudo, before, b);
          const double* c_prev = is_first ? c0.data() : r.Extra(pseudo, before, b, 0);
          std::vector<double> dh_prev(static_cast<size_t>(hidden)), dc_prev(static_cast<size_t>(hidden));
          for (int64_t i = 0; i < hidden; ++i) {
            const auto at = static_cast<size_t>(i);
            const double g = dh[at] + output_at(t, b)[d * hidden + i];
            auto value = [&](int gate) { return r.Gate(pseudo, t, b, gate)[i]; };
            auto set = [&](int gate, double by_input, double by_state) {
              r.InputGrad(pseudo, t, b, gate)[i] = by_input;
              r.StateGrad(pseudo, t, b, gate)[i] = by_state;
            };
            if (rnn.mode == kCudnnLstm) {
              const double cell_tanh = r.Extra(pseudo, t, b, 1)[i];
              const double dcell = dc[at] + g * value(3) * (1 - cell_tanh * cell_tanh);
              const double grads[] = {
                  dcell * value(2) * value(0) * (1 - value(0)), dcell * c_prev[i] * value(1) * (1 - value(1)),
                  dcell * value(0) * (1 - value(2) * value(2)), g * cell_tanh * value(3) * (1 - value(3))};
              for (int gate = 0; gate < 4; ++gate) set(gate, grads[gate], grads[gate]);
              dc_prev[at] = dcell * value(1);
            } else if (rnn.mode == kCudnnGru) {
              const double memory = g * (1 - value(1)) * (1 - value(2) * value(2));
              const double update = g * (h_prev[i] - value(2)) * value(1) * (1 - value(1));
              const double reset = memory * r.Extra(pseudo, t, b, 0)[i] * value(0) * (1 - value(0));
              set(0, reset, reset);
              set(1, update, update);
              set(2, memory, memory * value(0));
              dh_prev[at] += g * value(1);
            } else {
              const double slope = rnn.mode == kCudnnRnnRelu ? (value(0) > 0 ? 1 : 0) : 1 - value(0) * value(0);
              set(0, g * slope, g * slope);
            }
          }
          for (int gate = 0; gate < gates; ++gate) {
            for (int64_t i = 0; i < hidden; ++i) {
              w.AddTransposed(gate, i, r.InputGrad(pseudo, t, b, gate)[i], below.data() + (t * batch + b) * inputs);
              w.AddTransposed(gates + gate, i, r.StateGrad(pseudo, t, b, gate)[i], dh_prev.data());
            }
          }
          dh = std::move(dh_prev);
          dc = std::move(dc_prev);
        });
        StoreState(call, dh, pseudo, b, call.dhx);
        if (rnn.mode == kCudnnLstm) StoreState(call, dc, pseudo, b, call.dcx);
      }
    }
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < time; ++t) {
        for (int64_t i = 0; i < inputs; ++i) {
          const bool is_padding = t >= LengthOf(call, b);
          const double value = is_padding ? 0 : below[static_cast<size_t>((t * batch + b) * inputs + i)];
          if (layer > 0) {
            output_at(t, b)[i] = is_padding ? 0 : value * r.Mask(layer, t, b)[i];
          } else {
            StoreElement(call.element, call.dx, call.x_desc.Offset(t, b) + i, value);
          }
        }
      }
    }
  }
}

void RunRnnBackwardWeights(const RnnCall& call) {
  const CudnnRnnDescOpaque& rnn = call.rnn;
  const int64_t batch = call.x_desc.batch, hidden = rnn.hidden;
  const Reserve r(rnn, call.x_desc.time, batch, call.reserve);
  for (int pseudo = 0; pseudo < rnn.pseudo_layers(); ++pseudo) {
    const int layer = pseudo / rnn.directions(), d = pseudo % rnn.directions();
    for (int linear = 0; linear < 2 * rnn.gates(); ++linear) {
      const bool is_input = linear < rnn.gates();
      const int gate = linear % rnn.gates();
      const RnnWeight at = FindRnnWeight(rnn, pseudo, linear);
      std::vector<double> sums(static_cast<size_t>(hidden * at.columns)), bias(static_cast<size_t>(hidden));
      for (int64_t b = 0; b < batch; ++b) {
        const std::vector<double> h0 = LoadState(call, call.hx, pseudo, b);
        const int length = LengthOf(call, b);
        for (int t = 0; t < length; ++t) {
          const int before = d == 0 ? t - 1 : t + 1;
          const bool is_first = before < 0 || before >= length;
          const double* h_prev = is_first ? h0.data() : r.State(pseudo, before, b);
          const double* from = is_input ? r.Input(layer, t, b) : h_prev;
          const double* grad = is_input ? r.InputGrad(pseudo, t, b, gate) : r.StateGrad(pseudo, t, b, gate);
          for (int64_t i = 0; i < hidden; ++i) {
            bias[static_cast<size_t>(i)] += grad[i];
            for (int64_t j = 0; j < at.columns; ++j) sums[static_cast<size_t>(i * at.columns + j)] += grad[i] * from[j];
          }
        }
      }
      auto add = [&](int64_t first, const std::vector<double>& values) {
        for (int64_t i = 0; first >= 0 && i < static_cast<int64_t>(values.size()); ++i) {
          const double old = LoadElement<double>(call.element, call.dweights, first + i);
          StoreElement(call.element, call.dweights, first + i, old + values[static_cast<size_t>(i)]);
        }
      };
      add(at.matrix, sums);
      add(at.bias, bias);
    }
  }
}

}  // namespace weir::cuda_emulator
