// GRUBlockCell and its gradient. The gates "reset" and "update" lie beside each other in w_ru.
#include <algorithm>
#include <cmath>

#include "weir/ops/nn/float_matrix.h"
#include "weir/ops/nn/lstm_sizes.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using nn::FloatMatrix;

struct Inputs {
  int64_t batch, inputs, cells;
  FloatMatrix x, h_prev, w_ru, w_c, b_ru, b_c;

  FloatMatrix Cells(const KernelContext& ctx, int i) const { return nn::ReadMatrix(ctx.input(i), 0, batch, cells); }
};

StatusOr<Inputs> Read(const KernelContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(const nn::GruSizes sizes, nn::SizesOfGru(ctx));
  Inputs in{sizes.batch, sizes.inputs, sizes.cells, {}, {}, {}, {}, {}, {}};
  const int64_t n = in.inputs + in.cells;
  in.x = nn::ReadMatrix(ctx.input(0), 0, in.batch, in.inputs);
  in.h_prev = in.Cells(ctx, 1);
  in.w_ru = nn::ReadMatrix(ctx.input(2), 0, n, 2 * in.cells);
  in.w_c = nn::ReadMatrix(ctx.input(3), 0, n, in.cells);
  in.b_ru = nn::ReadVector(ctx.input(4));
  in.b_c = nn::ReadVector(ctx.input(5));
  return in;
}

Status Write(KernelContext& ctx, std::span<const FloatMatrix* const> values) {
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, Shape({values[i]->rows, values[i]->columns})));
    nn::WriteMatrix(*values[i], *out);
  }
  return OkStatus();
}

class GruKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Inputs in, Read(ctx));
    const FloatMatrix gates = nn::Product(ctx, nn::JoinColumns(in.x, in.h_prev), in.w_ru);
    FloatMatrix r(in.batch, in.cells), u = r, h = r, reset = r;
    auto sigmoid = [](float x) { return 1.0f / (1.0f + std::exp(-x)); };
    for (int64_t i = 0; i < in.batch; ++i) {
      for (int64_t c = 0; c < in.cells; ++c) {
        r(i, c) = sigmoid(gates(i, c) + in.b_ru.data[c]);
        u(i, c) = sigmoid(gates(i, in.cells + c) + in.b_ru.data[in.cells + c]);
        reset(i, c) = in.h_prev(i, c) * r(i, c);
      }
    }
    FloatMatrix candidate = nn::Product(ctx, nn::JoinColumns(in.x, reset), in.w_c);
    for (int64_t i = 0; i < in.batch; ++i) {
      for (int64_t c = 0; c < in.cells; ++c) {
        candidate(i, c) = std::tanh(candidate(i, c) + in.b_c.data[c]);
        h(i, c) = u(i, c) * in.h_prev(i, c) + (1 - u(i, c)) * candidate(i, c);
      }
    }
    const FloatMatrix* values[] = {&r, &u, &candidate, &h};
    return Write(ctx, values);
  }
};

class GruGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Inputs in, Read(ctx));
    const FloatMatrix r = in.Cells(ctx, 6), u = in.Cells(ctx, 7), candidate = in.Cells(ctx, 8), d_h = in.Cells(ctx, 9);
    FloatMatrix d_c(in.batch, in.cells), d_ru(in.batch, 2 * in.cells), d_x(in.batch, in.inputs), d_prev = d_c;
    for (int64_t i = 0; i < in.batch; ++i) {
      for (int64_t c = 0; c < in.cells; ++c) {
        const float v = candidate(i, c), gate = u(i, c);
        d_c(i, c) = d_h(i, c) * (1 - gate) * (1 - v * v);
        d_ru(i, in.cells + c) = d_h(i, c) * (in.h_prev(i, c) - v) * gate * (1 - gate);
      }
    }
    const FloatMatrix by_candidate = nn::Product(ctx, d_c, in.w_c, false, true);
    for (int64_t i = 0; i < in.batch; ++i) {
      for (int64_t c = 0; c < in.cells; ++c) {
        d_ru(i, c) = by_candidate(i, in.inputs + c) * in.h_prev(i, c) * r(i, c) * (1 - r(i, c));
      }
    }
    const FloatMatrix by_gates = nn::Product(ctx, d_ru, in.w_ru, false, true);
    for (int64_t i = 0; i < in.batch; ++i) {
      for (int64_t c = 0; c < in.inputs; ++c) d_x(i, c) = by_candidate(i, c) + by_gates(i, c);
      for (int64_t c = 0; c < in.cells; ++c) {
        d_prev(i, c) = by_candidate(i, in.inputs + c) * r(i, c) + d_h(i, c) * u(i, c) + by_gates(i, in.inputs + c);
      }
    }
    const FloatMatrix* values[] = {&d_x, &d_prev, &d_c, &d_ru};
    return Write(ctx, values);
  }
};

}  // namespace

void RegisterGruKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("GRUBlockCell").Types("T", TypeList<float>{}), MakeKernel<GruKernel>);
  registry.Add(KernelBuilder("GRUBlockCellGrad").Types("T", TypeList<float>{}), MakeKernel<GruGradKernel>);
}

}  // namespace weir
