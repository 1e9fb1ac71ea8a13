// Cells of LSTM and GRU layers, after the products that make their gates.
#include "weir/device/cuda/device_code/elementwise.cuh"

inline float Logistic(float x) { return 1.0f / (1.0f + exp(-x)); }

// Peepholes are null where there are none. Gates are four matrices [batch, cells] beside each other.
template <typename T>
struct Lstm {
  int64 batch, cells;
  int64 cell_gate, forget_gate;
  float forget_bias, cell_clip;
  const T *bias, *wci, *wcf, *wco;
};

template <typename T>
__global__ void LstmCell(const Lstm<T> l, const float* gates, const T* cs_prev, T* i_out, T* cs_out, T* f_out, T* o_out,
                         T* ci_out, T* co_out, T* h_out) {
  for (int64 at = GridFirst(); at < l.batch * l.cells; at += GridStride()) {
    const int64 c = at % l.cells;
    const float* row = gates + at / l.cells * 4 * l.cells + c;
    auto gate = [&](int64 which) { return row[which * l.cells] + (float)l.bias[which * l.cells + c]; };
    auto peephole = [&](const T* w, float value) { return w ? value * (float)w[c] : 0.0f; };
    const float previous = (float)cs_prev[at];
    const float i = Logistic(gate(0) + peephole(l.wci, previous));
    const float ci = tanh(gate(l.cell_gate));
    const float f = Logistic(gate(l.forget_gate) + l.forget_bias + peephole(l.wcf, previous));
    float cs = ci * i + f * previous;
    if (l.cell_clip > 0) cs = cs < -l.cell_clip ? -l.cell_clip : cs > l.cell_clip ? l.cell_clip : cs;
    const float o = Logistic(gate(3) + peephole(l.wco, cs)), co = tanh(cs);
    i_out[at] = (T)i;
    cs_out[at] = (T)cs;
    f_out[at] = (T)f;
    o_out[at] = (T)o;
    ci_out[at] = (T)ci;
    co_out[at] = (T)co;
    h_out[at] = (T)(co * o);
  }
}

// Gradients of the state are those that come from the next step (float, null in the last) and those of the outputs.
template <typename T>
__global__ void LstmCellGrad(const Lstm<T> l, const T* cs_prev, const T* i_in, const T* f_in, const T* o_in,
                             const T* ci_in, const T* co_in, const T* cs_grad, const T* h_grad,
                             const float* next_cs_grad, const float* next_h_grad, float* cs_prev_grad, T* dgates) {
  for (int64 at = GridFirst(); at < l.batch * l.cells; at += GridStride()) {
    const int64 c = at % l.cells;
    const float i = (float)i_in[at], f = (float)f_in[at], o = (float)o_in[at], ci = (float)ci_in[at];
    const float co = (float)co_in[at], previous = (float)cs_prev[at];
    const float dh = (float)h_grad[at] + (next_h_grad ? next_h_grad[at] : 0);
    const float d_o = o * (1 - o) * dh * co;
    const float dcs = (1 - co * co) * dh * o + (float)cs_grad[at] + (next_cs_grad ? next_cs_grad[at] : 0) +
                      (l.wco ? d_o * (float)l.wco[c] : 0);
    const float dci = (1 - ci * ci) * dcs * i, df = f * (1 - f) * dcs * previous, di = i * (1 - i) * dcs * ci;
    cs_prev_grad[at] = dcs * f + (l.wci ? di * (float)l.wci[c] : 0) + (l.wcf ? df * (float)l.wcf[c] : 0);
    T* row = dgates + at / l.cells * 4 * l.cells + c;
    row[0] = (T)di;
    row[l.cell_gate * l.cells] = (T)dci;
    row[l.forget_gate * l.cells] = (T)df;
    row[3 * l.cells] = (T)d_o;
  }
}

// Sums over `rows` steps and sequences of a gate's gradient times the state before or after.
template <typename T>
__global__ void PeepholeGrad(const Lstm<T> l, const T* dgates, const T* cs_prev, const T* cs, int64 rows, T* wci,
                             T* wcf, T* wco) {
  for (int64 c = GridFirst(); c < l.cells; c += GridStride()) {
    float input = 0, forget = 0, output = 0;
    for (int64 r = 0; r < rows; ++r) {
      const T* row = dgates + r * 4 * l.cells + c;
      const float previous = (float)cs_prev[r * l.cells + c];
      input += (float)row[0] * previous;
      forget += (float)row[l.forget_gate * l.cells] * previous;
      output += (float)row[3 * l.cells] * (float)cs[r * l.cells + c];
    }
    wci[c] = (T)input;
    wcf[c] = (T)forget;
    wco[c] = (T)output;
  }
}

template <typename T>
__global__ void NarrowFloats(const float* from, T* to, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) to[i] = (T)from[i];
}

// gates: reset and update beside each other.
__global__ void GruGates(const float* gates, const float* bias, const float* h_prev, float* r, float* u, float* reset,
                         int64 batch, int64 cells) {
  for (int64 at = GridFirst(); at < batch * cells; at += GridStride()) {
    const int64 c = at % cells, row = at / cells * 2 * cells;
    r[at] = Logistic(gates[row + c] + bias[c]);
    u[at] = Logistic(gates[row + cells + c] + bias[cells + c]);
    reset[at] = h_prev[at] * r[at];
  }
}
__global__ void GruState(float* candidate, const float* bias, const float* u, const float* h_prev, float* h,
                         int64 batch, int64 cells) {
  for (int64 at = GridFirst(); at < batch * cells; at += GridStride()) {
    candidate[at] = tanh(candidate[at] + bias[at % cells]);
    h[at] = u[at] * h_prev[at] + (1 - u[at]) * candidate[at];
  }
}
__global__ void GruGateGrads(const float* dh, const float* u, const float* candidate, const float* h_prev, float* dc,
                             float* dru, int64 batch, int64 cells) {
  for (int64 at = GridFirst(); at < batch * cells; at += GridStride()) {
    const float v = candidate[at], gate = u[at];
    dc[at] = dh[at] * (1 - gate) * (1 - v * v);
    dru[at / cells * 2 * cells + cells + at % cells] = dh[at] * (h_prev[at] - v) * gate * (1 - gate);
  }
}
// by_state: the gradient of the reset state, [batch, cells].
__global__ void GruResetGrads(const float* by_state, const float* h_prev, const float* r, const float* u,
                              const float* dh, float* dru, float* dprev, int64 batch, int64 cells) {
  for (int64 at = GridFirst(); at < batch * cells; at += GridStride()) {
    dru[at / cells * 2 * cells + at % cells] = by_state[at] * h_prev[at] * r[at] * (1 - r[at]);
    dprev[at] = by_state[at] * r[at] + dh[at] * u[at];
  }
}
