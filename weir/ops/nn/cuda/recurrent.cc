// LSTMBlockCell, BlockLSTM(V2), GRUBlockCell and their gradients on GPUs. What does not depend on the state is one
// product for all steps of a sequence.
#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/reduction.h"
#include "weir/ops/nn/cuda/register.h"
#include "weir/ops/nn/lstm_sizes.h"

namespace weir::cuda {
namespace {

DeviceFunction RecurrentFunction(std::string name) { return {"weir/ops/nn/cuda/recurrent.cu", std::move(name)}; }
DeviceFunction RecurrentFunction(std::string_view name, DType dtype) {
  return RecurrentFunction(Cat(name, "<", DeviceTypeName(dtype), ">"));
}

// out[m, n] (+)= a[m, k] b[k, n]; nothing where a size is 0.
struct Product {
  DType dtype = DType::kFloat, output = DType::kFloat;
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, adds = false;

  Status Run(KernelContext& ctx, DeviceAddress a, DeviceAddress b, DeviceAddress out) const {
    if (m == 0 || n == 0) return OkStatus();
    if (k == 0) return adds ? OkStatus() : FillZero(ctx, out, static_cast<size_t>(m * n) * SizeOf(output));
    const MatrixProduct product{.dtype = dtype,
                                .output = output,
                                .m = m,
                                .n = n,
                                .k = k,
                                .transpose_a = transpose_a,
                                .transpose_b = transpose_b,
                                .beta = adds ? 1.0 : 0.0};
    return Multiply(ctx, product, a, b, out);
  }
};

// As in the source.
struct DeviceLstm {
  int64_t batch, cells, cell_gate, forget_gate;
  float forget_bias, cell_clip;
  DeviceAddress bias, wci, wcf, wco;
};

// `weights` is the number of the input w.
DeviceLstm LstmOf(const KernelContext& ctx, const nn::LstmAttrs& attrs, int weights, int64_t batch, int64_t cells) {
  auto peephole = [&](int i) { return attrs.peephole ? Address(ctx.input(weights + i)) : 0; };
  return {batch,
          cells,
          attrs.cell_gate(),
          attrs.forget_gate(),
          attrs.forget_bias,
          attrs.cell_clip,
          Address(ctx.input(weights + 4)),
          peephole(1),
          peephole(2),
          peephole(3)};
}

class GpuLstmCellKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuLstmCellKernel>();
    kernel->is_gradient_ = init.schema().name.ends_with("Grad");
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, nn::LstmAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const nn::LstmCellSizes s, nn::SizesOfLstmCell(ctx, attrs_));
    return is_gradient_ ? Backward(ctx, s) : Forward(ctx, s);
  }

 private:
  Status Forward(KernelContext& ctx, const nn::LstmCellSizes& s) const {
    const DType dtype = ctx.input(0).dtype();
    Tensor* out[7];
    for (int i = 0; i < 7; ++i) {
      WEIR_ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, Shape({s.batch, s.cells})));
    }
    const DeviceAddress w = Address(ctx.input(3));
    WEIR_ASSIGN_OR_RETURN(Tensor gates, ctx.AllocateTemp(DType::kFloat, Shape({s.batch, 4 * s.cells})));
    Product product{.dtype = dtype, .m = s.batch, .n = 4 * s.cells, .k = s.inputs};
    WEIR_RETURN_IF_ERROR(product.Run(ctx, Address(ctx.input(0)), w, Address(gates)));
    product.k = s.cells;
    product.adds = true;
    const size_t below = static_cast<size_t>(s.inputs * 4 * s.cells) * SizeOf(dtype);
    WEIR_RETURN_IF_ERROR(product.Run(ctx, Address(ctx.input(2)), w + below, Address(gates)));
    return LaunchOver(ctx, RecurrentFunction("LstmCell", dtype), s.batch * s.cells,
                      LstmOf(ctx, attrs_, 3, s.batch, s.cells), Address(gates), Address(ctx.input(1)), Address(*out[0]),
                      Address(*out[1]), Address(*out[2]), Address(*out[3]), Address(*out[4]), Address(*out[5]),
                      Address(*out[6]));
  }

  // Inputs 8 to 15: i, cs, f, o, ci, co, cs_grad, h_grad.
  Status Backward(KernelContext& ctx, const nn::LstmCellSizes& s) const {
    const DType dtype = ctx.input(0).dtype();
    WEIR_ASSIGN_OR_RETURN(Tensor * cs_prev_grad, ctx.AllocateOutput(0, Shape({s.batch, s.cells})));
    WEIR_ASSIGN_OR_RETURN(Tensor * dgates, ctx.AllocateOutput(1, Shape({s.batch, 4 * s.cells})));
    Tensor* peepholes[3];
    for (int i = 0; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(peepholes[i], ctx.AllocateOutput(i + 2, Shape({s.cells})));
    }
    const int64_t n = s.batch * s.cells;
    WEIR_ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kFloat, Shape({n})));
    auto in = [&](int i) { return Address(ctx.input(i)); };
    const DeviceLstm lstm = LstmOf(ctx, attrs_, 3, s.batch, s.cells);
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, RecurrentFunction("LstmCellGrad", dtype), n, lstm, in(1), in(8), in(10),
                                    in(11), in(12), in(13), in(14), in(15), DeviceAddress{0}, DeviceAddress{0},
                                    Address(wide), Address(*dgates)));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, RecurrentFunction("NarrowFloats", dtype), n, Address(wide), Address(*cs_prev_grad), n));
    if (!attrs_.peephole) {
      for (Tensor* vector : peepholes) WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*vector), vector->num_bytes()));
      return OkStatus();
    }
    return LaunchOver(ctx, RecurrentFunction("PeepholeGrad", dtype), s.cells, lstm, Address(*dgates), in(1), in(9),
                      s.batch, Address(*peepholes[0]), Address(*peepholes[1]), Address(*peepholes[2]));
  }

  nn::LstmAttrs attrs_;
  bool is_gradient_ = false;
};

class GpuLstmSequenceKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuLstmSequenceKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, nn::LstmAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const nn::LstmSequenceSizes s, nn::SizesOfLstmSequence(ctx, attrs_));
    WEIR_RETURN_IF_ERROR(nn::CheckUnusedPeepholes(ctx, s.cells));
    const DType dtype = ctx.input(1).dtype();
    const int64_t n = s.batch * s.cells, gate_size = 4 * n;
    const size_t element = SizeOf(dtype), step_bytes = static_cast<size_t>(n) * element;
    Tensor* out[7];
    for (int i = 0; i < 7; ++i) {
      WEIR_ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, Shape({s.time, s.batch, s.cells})));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out[i]) + s.steps * step_bytes, (s.time - s.steps) * step_bytes));
    }
    if (n == 0 || s.steps == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor gates, ctx.AllocateTemp(DType::kFloat, Shape({s.steps, gate_size})));
    const DeviceAddress w = Address(ctx.input(4));
    Product product{.dtype = dtype, .m = s.steps * s.batch, .n = 4 * s.cells, .k = s.inputs};
    WEIR_RETURN_IF_ERROR(product.Run(ctx, Address(ctx.input(1)), w, Address(gates)));
    product.m = s.batch;
    product.k = s.cells;
    product.adds = true;
    const DeviceLstm lstm = LstmOf(ctx, attrs_, 4, s.batch, s.cells);
    const size_t below = static_cast<size_t>(s.inputs * 4 * s.cells) * element;
    for (int64_t t = 0; t < s.steps; ++t) {
      auto at = [&](int i) { return Address(*out[i]) + t * step_bytes; };
      const DeviceAddress cs_prev = t > 0 ? at(1) - step_bytes : Address(ctx.input(2));
      const DeviceAddress h_prev = t > 0 ? at(6) - step_bytes : Address(ctx.input(3));
      const DeviceAddress here = Address(gates) + static_cast<size_t>(t * gate_size) * sizeof(float);
      WEIR_RETURN_IF_ERROR(product.Run(ctx, h_prev, w + below, here));
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, RecurrentFunction("LstmCell", dtype), n, lstm, here, cs_prev, at(0), at(1),
                                      at(2), at(3), at(4), at(5), at(6)));
    }
    return OkStatus();
  }

 private:
  nn::LstmAttrs attrs_;
};

// Back through time. Inputs 9 to 17: i, cs, f, o, ci, co, h, cs_grad, h_grad.
class GpuLstmSequenceGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuLstmSequenceGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, nn::LstmAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const nn::LstmSequenceSizes s, nn::SizesOfLstmSequence(ctx, attrs_));
    const DType dtype = ctx.input(1).dtype();
    const int64_t n = s.batch * s.cells, rows = s.steps * s.batch;
    const size_t element = SizeOf(dtype), step_bytes = static_cast<size_t>(n) * element;
    Tensor* out[8];
    const Shape shapes[] = {ctx.input(1).shape(), Shape({s.batch, s.cells}), Shape({s.batch, s.cells}),
                            ctx.input(4).shape(), Shape({s.cells}),          Shape({s.cells}),
                            Shape({s.cells}),     Shape({4 * s.cells})};
    for (int i = 0; i < 8; ++i) {
      WEIR_ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, shapes[i]));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out[i]), out[i]->num_bytes()));
    }
    if (n == 0 || s.steps == 0) return OkStatus();
    const DeviceAddress w = Address(ctx.input(4));
    const DeviceAddress w_below = w + static_cast<size_t>(s.inputs * 4 * s.cells) * element;
    const DeviceLstm lstm = LstmOf(ctx, attrs_, 4, s.batch, s.cells);
    WEIR_ASSIGN_OR_RETURN(Tensor dgates, ctx.AllocateTemp(dtype, Shape({rows, 4 * s.cells})));
    WEIR_ASSIGN_OR_RETURN(Tensor states, ctx.AllocateTemp(DType::kFloat, Shape({3, n})));
    const size_t state_bytes = static_cast<size_t>(n) * sizeof(float);
    const DeviceAddress cs_grads[] = {Address(states), Address(states) + state_bytes};
    const DeviceAddress h_grad = Address(states) + 2 * state_bytes;
    const Product back{.dtype = dtype, .m = s.batch, .n = s.cells, .k = 4 * s.cells, .transpose_b = true};
    for (int64_t t = s.steps - 1; t >= 0; --t) {
      auto in = [&](int i) { return Address(ctx.input(i)) + t * step_bytes; };
      const bool is_last = t == s.steps - 1;
      const DeviceAddress cs_prev = t > 0 ? in(10) - step_bytes : Address(ctx.input(2));
      const DeviceAddress here = Address(dgates) + static_cast<size_t>(t) * 4 * step_bytes;
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, RecurrentFunction("LstmCellGrad", dtype), n, lstm, cs_prev, in(9), in(11),
                                      in(12), in(13), in(14), in(16), in(17), is_last ? 0 : cs_grads[(t + 1) % 2],
                                      is_last ? 0 : h_grad, cs_grads[t % 2], here));
      WEIR_RETURN_IF_ERROR(back.Run(ctx, here, w_below, h_grad));
    }
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, RecurrentFunction("NarrowFloats", dtype), n, cs_grads[0], Address(*out[1]), n));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, RecurrentFunction("NarrowFloats", dtype), n, h_grad, Address(*out[2]), n));
    return WeightGradients(ctx, s, lstm, dgates, out);
  }

 private:
  Status WeightGradients(KernelContext& ctx, const nn::LstmSequenceSizes& s, const DeviceLstm& lstm,
                         const Tensor& dgates, Tensor* const* out) const {
    const DType dtype = dgates.dtype();
    const int64_t n = s.batch * s.cells, rows = s.steps * s.batch;
    const size_t step_bytes = static_cast<size_t>(n) * SizeOf(dtype);
    const Product by_x{
        .dtype = dtype, .output = dtype, .m = rows, .n = s.inputs, .k = 4 * s.cells, .transpose_b = true};
    WEIR_RETURN_IF_ERROR(by_x.Run(ctx, Address(dgates), Address(ctx.input(4)), Address(*out[0])));
    Product by_w{.dtype = dtype, .output = dtype, .m = s.inputs, .n = 4 * s.cells, .k = rows, .transpose_a = true};
    WEIR_RETURN_IF_ERROR(by_w.Run(ctx, Address(ctx.input(1)), Address(dgates), Address(*out[3])));
    // The states before each step.
    auto before = [&](int first, int rest) -> StatusOr<Tensor> {
      WEIR_ASSIGN_OR_RETURN(Tensor all, ctx.AllocateTemp(dtype, Shape({s.steps, n})));
      WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(all), Address(ctx.input(first)), step_bytes));
      WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(all) + step_bytes, Address(ctx.input(rest)),
                                        static_cast<size_t>(s.steps - 1) * step_bytes));
      return all;
    };
    WEIR_ASSIGN_OR_RETURN(Tensor h_prev, before(3, 15));
    by_w.m = s.cells;
    const size_t below = static_cast<size_t>(s.inputs * 4 * s.cells) * SizeOf(dtype);
    WEIR_RETURN_IF_ERROR(by_w.Run(ctx, Address(h_prev), Address(dgates), Address(*out[3]) + below));
    WEIR_RETURN_IF_ERROR(Reduce(ctx, "Sum", dgates, {true, false}, *out[7]));
    if (!attrs_.peephole) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor cs_prev, before(2, 10));
    return LaunchOver(ctx, RecurrentFunction("PeepholeGrad", dtype), s.cells, lstm, Address(dgates), Address(cs_prev),
                      Address(ctx.input(10)), rows, Address(*out[4]), Address(*out[5]), Address(*out[6]));
  }

  nn::LstmAttrs attrs_;
};

class GpuGruKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const nn::GruSizes s, nn::SizesOfGru(ctx));
    const int64_t n = s.batch * s.cells;
    Tensor* out[4];  // r, u, c, h
    for (int i = 0; i < 4; ++i) {
      WEIR_ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, Shape({s.batch, s.cells})));
    }
    if (n == 0) return OkStatus();
    auto in = [&](int i) { return Address(ctx.input(i)); };
    WEIR_ASSIGN_OR_RETURN(Tensor gates, ctx.AllocateTemp(DType::kFloat, Shape({s.batch, 2 * s.cells})));
    WEIR_ASSIGN_OR_RETURN(Tensor reset, ctx.AllocateTemp(DType::kFloat, Shape({s.batch, s.cells})));
    WEIR_RETURN_IF_ERROR(Joined(ctx, s, in(0), in(1), in(2), 2 * s.cells, Address(gates)));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, RecurrentFunction("GruGates"), n, Address(gates), in(4), in(1),
                                    Address(*out[0]), Address(*out[1]), Address(reset), s.batch, s.cells));
    WEIR_RETURN_IF_ERROR(Joined(ctx, s, in(0), Address(reset), in(3), s.cells, Address(*out[2])));
    return LaunchOver(ctx, RecurrentFunction("GruState"), n, Address(*out[2]), in(5), Address(*out[1]), in(1),
                      Address(*out[3]), s.batch, s.cells);
  }

 private:
  // out[batch, columns] = [x, state] w.
  static Status Joined(KernelContext& ctx, const nn::GruSizes& s, DeviceAddress x, DeviceAddress state, DeviceAddress w,
                       int64_t columns, DeviceAddress out) {
    Product product{.m = s.batch, .n = columns, .k = s.inputs};
    WEIR_RETURN_IF_ERROR(product.Run(ctx, x, w, out));
    product.k = s.cells;
    product.adds = true;
    return product.Run(ctx, state, w + static_cast<size_t>(s.inputs * columns) * sizeof(float), out);
  }
};

// Inputs 6 to 9: r, u, c, d_h.
class GpuGruGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const nn::GruSizes s, nn::SizesOfGru(ctx));
    const int64_t n = s.batch * s.cells;
    const Shape shapes[] = {ctx.input(0).shape(), ctx.input(1).shape(), ctx.input(1).shape(),
                            Shape({s.batch, 2 * s.cells})};
    Tensor* out[4];  // d_x, d_h_prev, d_c, d_r_u
    for (int i = 0; i < 4; ++i) {
      WEIR_ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, shapes[i]));
    }
    if (n == 0) return FillZero(ctx, Address(*out[0]), out[0]->num_bytes());
    auto in = [&](int i) { return Address(ctx.input(i)); };
    const DeviceAddress dx = Address(*out[0]), dprev = Address(*out[1]), dc = Address(*out[2]), dru = Address(*out[3]);
    const size_t c_below = static_cast<size_t>(s.inputs * s.cells) * sizeof(float);
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, RecurrentFunction("GruGateGrads"), n, in(9), in(7), in(8), in(1), dc, dru, s.batch, s.cells));
    WEIR_ASSIGN_OR_RETURN(Tensor by_state, ctx.AllocateTemp(DType::kFloat, Shape({s.batch, s.cells})));
    const Product c_to_state{.m = s.batch, .n = s.cells, .k = s.cells, .transpose_b = true};
    WEIR_RETURN_IF_ERROR(c_to_state.Run(ctx, dc, in(3) + c_below, Address(by_state)));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, RecurrentFunction("GruResetGrads"), n, Address(by_state), in(1), in(6), in(7),
                                    in(9), dru, dprev, s.batch, s.cells));
    Product to_x{.m = s.batch, .n = s.inputs, .k = s.cells, .transpose_b = true};
    WEIR_RETURN_IF_ERROR(to_x.Run(ctx, dc, in(3), dx));
    to_x.k = 2 * s.cells;
    to_x.adds = true;
    WEIR_RETURN_IF_ERROR(to_x.Run(ctx, dru, in(2), dx));
    const Product to_state{.m = s.batch, .n = s.cells, .k = 2 * s.cells, .transpose_b = true, .adds = true};
    return to_state.Run(ctx, dru, in(2) + 2 * c_below, dprev);
  }
};

}  // namespace

void RegisterRecurrentKernels(GpuRegistry& registry) {
  for (const char* op : {"LSTMBlockCell", "LSTMBlockCellGrad"}) registry.Add(op, MakeKernel<GpuLstmCellKernel>);
  for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) registry.Add(op, MakeKernel<GpuLstmSequenceKernel>);
  for (const char* op : {"BlockLSTMGrad", "BlockLSTMGradV2"}) registry.Add(op, MakeKernel<GpuLstmSequenceGradKernel>);
  registry.Add("GRUBlockCell", MakeKernel<GpuGruKernel>);
  registry.Add("GRUBlockCellGrad", MakeKernel<GpuGruGradKernel>);
}

}  // namespace weir::cuda
