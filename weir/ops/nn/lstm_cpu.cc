// LSTMBlockCell, BlockLSTM(V2) and their gradients. The four gates lie beside each other in the weights: input, cell,
// forget, output (V2: input, forget, cell, output).
#include <cmath>

#include "weir/ops/nn/float_matrix.h"
#include "weir/ops/nn/lstm_sizes.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using nn::FloatMatrix;

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// What all of them read beside the state. Weights of the peepholes are zero where there are none.
struct Weights {
  FloatMatrix w, wci, wcf, wco, b;
  int64_t inputs = 0, cells = 0;
};

using Attrs = nn::LstmAttrs;

// Values of one step, one matrix [batch, cells] each.
struct Step {
  FloatMatrix i, cs, f, o, ci, co, h;
};

Step Forward(const KernelContext& ctx, const Attrs& attrs, const Weights& weights, const FloatMatrix& x,
             const FloatMatrix& cs_prev, const FloatMatrix& h_prev) {
  const int64_t batch = x.rows, cells = weights.cells;
  const FloatMatrix gates = nn::Product(ctx, nn::JoinColumns(x, h_prev), weights.w);
  Step s;
  for (FloatMatrix* value : {&s.i, &s.cs, &s.f, &s.o, &s.ci, &s.co, &s.h}) *value = FloatMatrix(batch, cells);
  for (int64_t r = 0; r < batch; ++r) {
    for (int64_t c = 0; c < cells; ++c) {
      auto gate = [&](int which) { return gates(r, which * cells + c) + weights.b.data[which * cells + c]; };
      const float previous = cs_prev(r, c);
      const float i = Sigmoid(gate(0) + previous * weights.wci.data[c]);
      const float ci = std::tanh(gate(attrs.cell_gate()));
      const float f = Sigmoid(gate(attrs.forget_gate()) + attrs.forget_bias + previous * weights.wcf.data[c]);
      float cs = ci * i + f * previous;
      if (attrs.cell_clip > 0) cs = std::min(std::max(cs, -attrs.cell_clip), attrs.cell_clip);
      const float o = Sigmoid(gate(3) + cs * weights.wco.data[c]);
      const float co = std::tanh(cs);
      s.i(r, c) = i;
      s.cs(r, c) = cs;
      s.f(r, c) = f;
      s.o(r, c) = o;
      s.ci(r, c) = ci;
      s.co(r, c) = co;
      s.h(r, c) = co * o;
    }
  }
  return s;
}

// Gradients of one step; those of the peepholes add up.
struct StepGrad {
  FloatMatrix gates, cs_prev;
  FloatMatrix wci, wcf, wco;
};

void Backward(const Attrs& attrs, const Weights& weights, const Step& s, const FloatMatrix& cs_prev,
              const FloatMatrix& cs_grad, const FloatMatrix& h_grad, StepGrad& out) {
  const int64_t batch = cs_prev.rows, cells = weights.cells;
  out.gates = FloatMatrix(batch, 4 * cells);
  out.cs_prev = FloatMatrix(batch, cells);
  for (int64_t r = 0; r < batch; ++r) {
    for (int64_t c = 0; c < cells; ++c) {
      const float i = s.i(r, c), f = s.f(r, c), o = s.o(r, c), ci = s.ci(r, c), co = s.co(r, c);
      const float dh = h_grad(r, c), previous = cs_prev(r, c);
      const float d_o = o * (1 - o) * dh * co;
      const float dcs = (1 - co * co) * dh * o + cs_grad(r, c) + d_o * weights.wco.data[c];
      const float dci = (1 - ci * ci) * dcs * i;
      const float df = f * (1 - f) * dcs * previous;
      const float di = i * (1 - i) * dcs * ci;
      out.cs_prev(r, c) = dcs * f + di * weights.wci.data[c] + df * weights.wcf.data[c];
      out.gates(r, c) = di;
      out.gates(r, attrs.cell_gate() * cells + c) = dci;
      out.gates(r, attrs.forget_gate() * cells + c) = df;
      out.gates(r, 3 * cells + c) = d_o;
      if (!attrs.peephole) continue;
      out.wci.data[c] += di * previous;
      out.wcf.data[c] += df * previous;
      out.wco.data[c] += d_o * s.cs(r, c);
    }
  }
}

// Inputs `first` to first + 4: w, wci, wcf, wco, b. REQUIRES: their shapes are checked.
Weights ReadWeights(const KernelContext& ctx, const Attrs& attrs, int first, int64_t inputs, int64_t cells) {
  Weights out{nn::ReadMatrix(ctx.input(first), 0, inputs + cells, 4 * cells), {}, {}, {}, {}, inputs, cells};
  FloatMatrix* peepholes[] = {&out.wci, &out.wcf, &out.wco};
  for (int i = 0; i < 3; ++i) {
    *peepholes[i] = attrs.peephole ? nn::ReadVector(ctx.input(first + 1 + i)) : FloatMatrix(1, cells);
  }
  out.b = nn::ReadVector(ctx.input(first + 4));
  return out;
}

class CellKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CellKernel>();
    kernel->is_gradient_ = init.schema().name.ends_with("Grad");
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, Attrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const nn::LstmCellSizes sizes, nn::SizesOfLstmCell(ctx, attrs_));
    const auto [batch, inputs, cells] = sizes;
    const Weights weights = ReadWeights(ctx, attrs_, 3, inputs, cells);
    auto read = [&](int i) { return nn::ReadMatrix(ctx.input(i), 0, sizes.batch, sizes.cells); };
    if (!is_gradient_) {
      const Step s = Forward(ctx, attrs_, weights, nn::ReadMatrix(ctx.input(0), 0, batch, inputs), read(1), read(2));
      const FloatMatrix* values[] = {&s.i, &s.cs, &s.f, &s.o, &s.ci, &s.co, &s.h};
      return Write(ctx, values, {});
    }
    const Step s{read(8), read(9), read(10), read(11), read(12), read(13), {}};
    StepGrad grad{{}, {}, FloatMatrix(1, cells), FloatMatrix(1, cells), FloatMatrix(1, cells)};
    Backward(attrs_, weights, s, read(1), read(14), read(15), grad);
    const FloatMatrix* values[] = {&grad.cs_prev, &grad.gates};
    const FloatMatrix* vectors[] = {&grad.wci, &grad.wcf, &grad.wco};
    return Write(ctx, values, vectors);
  }

 private:
  static Status Write(KernelContext& ctx, std::span<const FloatMatrix* const> matrices,
                      std::span<const FloatMatrix* const> vectors) {
    int i = 0;
    for (const FloatMatrix* matrix : matrices) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i++, Shape({matrix->rows, matrix->columns})));
      nn::WriteMatrix(*matrix, *out);
    }
    for (const FloatMatrix* vector : vectors) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i++, Shape({vector->columns})));
      nn::WriteMatrix(*vector, *out);
    }
    return OkStatus();
  }

  Attrs attrs_;
  bool is_gradient_ = false;
};

struct Sequence : nn::LstmSequenceSizes {
  Weights weights;
};

StatusOr<Sequence> ReadSequence(const KernelContext& ctx, const Attrs& attrs) {
  WEIR_ASSIGN_OR_RETURN(const nn::LstmSequenceSizes s, nn::SizesOfLstmSequence(ctx, attrs));
  return Sequence{s, ReadWeights(ctx, attrs, 4, s.inputs, s.cells)};
}

class SequenceKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SequenceKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, Attrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Sequence s, ReadSequence(ctx, attrs_));
    WEIR_RETURN_IF_ERROR(nn::CheckUnusedPeepholes(ctx, s.cells));
    const int64_t size = s.batch * s.cells;
    Tensor* out[7];
    for (int i = 0; i < 7; ++i) {
      WEIR_ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, Shape({s.time, s.batch, s.cells})));
    }
    FloatMatrix cs = nn::ReadMatrix(ctx.input(2), 0, s.batch, s.cells);
    FloatMatrix h = nn::ReadMatrix(ctx.input(3), 0, s.batch, s.cells);
    for (int64_t t = 0; t < s.time; ++t) {
      Step step;
      if (t < s.steps) {
        const FloatMatrix x = nn::ReadMatrix(ctx.input(1), t * s.batch * s.inputs, s.batch, s.inputs);
        step = Forward(ctx, attrs_, s.weights, x, cs, h);
      } else {
        for (FloatMatrix* value : {&step.i, &step.cs, &step.f, &step.o, &step.ci, &step.co, &step.h}) {
          *value = FloatMatrix(s.batch, s.cells);
        }
      }
      const FloatMatrix* values[] = {&step.i, &step.cs, &step.f, &step.o, &step.ci, &step.co, &step.h};
      for (int i = 0; i < 7; ++i) nn::WriteMatrix(*values[i], *out[i], t * size);
      cs = std::move(step.cs);
      h = std::move(step.h);
    }
    return OkStatus();
  }

 private:
  Attrs attrs_;
};

// Back through time. Inputs 9 to 17: i, cs, f, o, ci, co, h, cs_grad, h_grad.
class SequenceGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SequenceGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, Attrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Sequence s, ReadSequence(ctx, attrs_));
    WEIR_ASSIGN_OR_RETURN(Tensor * x_grad, ctx.AllocateOutput(0, ctx.input(1).shape()));
    const int64_t cells = s.cells;
    FloatMatrix cs_grad(s.batch, cells), h_grad(s.batch, cells), w_grad(s.inputs + cells, 4 * cells),
        b_grad(1, 4 * cells);
    StepGrad grad{{}, {}, FloatMatrix(1, cells), FloatMatrix(1, cells), FloatMatrix(1, cells)};
    for (int64_t t = s.time - 1; t >= 0; --t) {
      const int64_t x_at = t * s.batch * s.inputs;
      if (t >= s.steps) {
        nn::WriteMatrix(FloatMatrix(s.batch, s.inputs), *x_grad, x_at);
        continue;
      }
      auto read = [&](int i, int64_t time) {
        return nn::ReadMatrix(ctx.input(i), time * s.batch * cells, s.batch, cells);
      };
      const Step step{read(9, t), read(10, t), read(11, t), read(12, t), read(13, t), read(14, t), {}};
      const FloatMatrix cs_prev = t > 0 ? read(10, t - 1) : read(2, 0);
      const FloatMatrix h_prev = t > 0 ? read(15, t - 1) : read(3, 0);
      Add(read(16, t), cs_grad);
      Add(read(17, t), h_grad);
      Backward(attrs_, s.weights, step, cs_prev, cs_grad, h_grad, grad);
      const FloatMatrix xh_grad = nn::Product(ctx, grad.gates, s.weights.w, false, true);
      nn::WriteMatrix(nn::Columns(xh_grad, 0, s.inputs), *x_grad, x_at);
      h_grad = nn::Columns(xh_grad, s.inputs, s.inputs + cells);
      cs_grad = grad.cs_prev;
      const FloatMatrix x = nn::ReadMatrix(ctx.input(1), x_at, s.batch, s.inputs);
      Add(nn::Product(ctx, nn::JoinColumns(x, h_prev), grad.gates, true, false), w_grad);
      for (int64_t r = 0; r < s.batch; ++r) {
        for (int64_t c = 0; c < 4 * cells; ++c) b_grad.data[c] += grad.gates(r, c);
      }
    }
    const FloatMatrix* values[] = {&cs_grad, &h_grad, &w_grad, &grad.wci, &grad.wcf, &grad.wco, &b_grad};
    for (int i = 0; i < 7; ++i) {
      const bool is_vector = i >= 3;
      const Shape shape = is_vector ? Shape({values[i]->columns}) : Shape({values[i]->rows, values[i]->columns});
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i + 1, shape));
      nn::WriteMatrix(*values[i], *out);
    }
    return OkStatus();
  }

 private:
  static void Add(const FloatMatrix& from, FloatMatrix& to) {
    for (size_t i = 0; i < from.data.size(); ++i) to.data[i] += from.data[i];
  }
  Attrs attrs_;
};

}  // namespace

void RegisterLstmKernels(KernelRegistry& registry) {
  using Types = TypeList<Half, float>;
  for (std::string_view op : {"LSTMBlockCell", "LSTMBlockCellGrad"}) {
    registry.Add(KernelBuilder(op).Types("T", Types{}), MakeKernel<CellKernel>);
  }
  for (std::string_view op : {"BlockLSTM", "BlockLSTMV2"}) {
    registry.Add(KernelBuilder(op).Types("T", Types{}), MakeKernel<SequenceKernel>);
  }
  for (std::string_view op : {"BlockLSTMGrad", "BlockLSTMGradV2"}) {
    registry.Add(KernelBuilder(op).Types("T", Types{}), MakeKernel<SequenceGradKernel>);
  }
}

}  // namespace weir
