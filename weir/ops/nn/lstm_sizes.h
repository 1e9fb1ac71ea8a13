// Attributes and sizes of LSTM and GRU cells, checked: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_LSTM_SIZES_H_
#define WEIR_OPS_NN_LSTM_SIZES_H_

#include <algorithm>

#include "weir/framework/kernel.h"

namespace weir::nn {

struct LstmAttrs {
  float forget_bias = 0, cell_clip = 0;
  bool peephole = false;
  bool forget_before_cell = false;

  static StatusOr<LstmAttrs> Read(const KernelInit& init) {
    LstmAttrs out;
    if (init.HasAttr("forget_bias")) {
      WEIR_ASSIGN_OR_RETURN(out.forget_bias, init.Attr<float>("forget_bias"));
    }
    if (init.HasAttr("cell_clip")) {
      WEIR_ASSIGN_OR_RETURN(out.cell_clip, init.Attr<float>("cell_clip"));
    }
    WEIR_ASSIGN_OR_RETURN(out.peephole, init.Attr<bool>("use_peephole"));
    out.forget_before_cell = init.schema().name.ends_with("V2");
    return out;
  }
  int cell_gate() const { return forget_before_cell ? 2 : 1; }
  int forget_gate() const { return forget_before_cell ? 1 : 2; }
};

inline Status CheckInputShape(const KernelContext& ctx, int input, std::initializer_list<int64_t> dims) {
  const Shape& shape = ctx.input(input).shape();
  if (std::ranges::equal(shape.dims(), dims)) return OkStatus();
  return InvalidArgument(ctx.node().schema->inputs[input].name, " has shape ", shape.ToString(), ", expected ",
                         PartialShape(dims).ToString());
}

// Inputs `first` to first + 4: w, wci, wcf, wco, b.
inline Status CheckLstmWeights(const KernelContext& ctx, const LstmAttrs& attrs, int first, int64_t inputs,
                               int64_t cells) {
  WEIR_RETURN_IF_ERROR(CheckInputShape(ctx, first, {inputs + cells, 4 * cells}));
  WEIR_RETURN_IF_ERROR(CheckInputShape(ctx, first + 4, {4 * cells}));
  for (int i = first + 1; attrs.peephole && i < first + 4; ++i) {
    WEIR_RETURN_IF_ERROR(CheckInputShape(ctx, i, {cells}));
  }
  return OkStatus();
}

// Of a single cell, x [batch, inputs].
struct LstmCellSizes {
  int64_t batch, inputs, cells;
};
inline StatusOr<LstmCellSizes> SizesOfLstmCell(const KernelContext& ctx, const LstmAttrs& attrs) {
  const Shape &x = ctx.input(0).shape(), &state = ctx.input(1).shape();
  if (x.rank() != 2) return InvalidArgument("x must be a matrix, but is ", x.ToString());
  if (state.rank() != 2) return InvalidArgument("cs_prev must be a matrix, but is ", state.ToString());
  const LstmCellSizes s{x.dim(0), x.dim(1), state.dim(1)};
  for (int i = 1; i < 3; ++i) WEIR_RETURN_IF_ERROR(CheckInputShape(ctx, i, {s.batch, s.cells}));
  for (int i = 8; i < ctx.num_inputs(); ++i) WEIR_RETURN_IF_ERROR(CheckInputShape(ctx, i, {s.batch, s.cells}));
  WEIR_RETURN_IF_ERROR(CheckLstmWeights(ctx, attrs, 3, s.inputs, s.cells));
  return s;
}

// Of a whole sequence, x [time, batch, inputs].
struct LstmSequenceSizes {
  int64_t steps, time, batch, inputs, cells;
};
inline StatusOr<LstmSequenceSizes> SizesOfLstmSequence(const KernelContext& ctx, const LstmAttrs& attrs) {
  const Tensor& limit = ctx.input(0);
  if (limit.rank() != 0) return InvalidArgument("seq_len_max must be a scalar, but is ", limit.shape().ToString());
  const Shape &x = ctx.input(1).shape(), &state = ctx.input(2).shape();
  if (x.rank() != 3) return InvalidArgument("x must be 3D");
  if (state.rank() != 2) return InvalidArgument("cs_prev must be a matrix, but is ", state.ToString());
  const LstmSequenceSizes s{limit.scalar<int64_t>(), x.dim(0), x.dim(1), x.dim(2), state.dim(1)};
  if (s.steps < 0 || s.steps > s.time) {
    return InvalidArgument("seq_len_max must be in [0, ", s.time, "], got ", s.steps);
  }
  for (int i = 2; i < 4; ++i) WEIR_RETURN_IF_ERROR(CheckInputShape(ctx, i, {s.batch, s.cells}));
  for (int i = 9; i < ctx.num_inputs(); ++i) {
    WEIR_RETURN_IF_ERROR(CheckInputShape(ctx, i, {s.time, s.batch, s.cells}));
  }
  WEIR_RETURN_IF_ERROR(CheckLstmWeights(ctx, attrs, 4, s.inputs, s.cells));
  return s;
}
// The forward op wants peepholes of the right shape whether they are used or not.
inline Status CheckUnusedPeepholes(const KernelContext& ctx, int64_t cells) {
  for (int i = 5; i < 8; ++i) {
    const Shape& peephole = ctx.input(i).shape();
    const std::string& name = ctx.node().schema->inputs[i].name;
    if (peephole.rank() != 1) return InvalidArgument(name, " must be 1D");
    if (peephole.dim(0) != cells) {
      return InvalidArgument(name, ".dim_size(0) != cell_size: ", peephole.dim(0), " vs. ", cells);
    }
  }
  return OkStatus();
}

struct GruSizes {
  int64_t batch, inputs, cells;
};
inline StatusOr<GruSizes> SizesOfGru(const KernelContext& ctx) {
  const Shape &x = ctx.input(0).shape(), &h = ctx.input(1).shape();
  if (x.rank() != 2) return InvalidArgument("x must be a matrix, but is ", x.ToString());
  if (h.rank() != 2) return InvalidArgument("h_prev must be a matrix, but is ", h.ToString());
  const GruSizes s{x.dim(0), x.dim(1), h.dim(1)};
  // Sizes of tensors without elements may be too large to be put together.
  constexpr int64_t kMost = int64_t{1} << 30;
  if (std::max({s.batch, s.inputs, s.cells}) > kMost) return InvalidArgument("Sizes of a cell are out of range");
  const int64_t n = s.inputs + s.cells;
  const Shape expected[] = {x,
                            Shape({s.batch, s.cells}),
                            Shape({n, 2 * s.cells}),
                            Shape({n, s.cells}),
                            Shape({2 * s.cells}),
                            Shape({s.cells})};
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Shape& wanted = i < 6 ? expected[i] : expected[1];
    if (ctx.input(i).shape() == wanted) continue;
    return InvalidArgument(ctx.node().schema->inputs[i].name, " has shape ", ctx.input(i).shape().ToString(),
                           ", expected ", wanted.ToString());
  }
  return s;
}

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_LSTM_SIZES_H_
