// _FusedConv2D and _FusedMatMul: a contraction, what is added to its columns, and an activation, as one node. The
// fusing pass (weir/passes/fuse.h) makes them; results are those of the nodes they stand for, up to rounding.
#include <cmath>
#include <cstring>

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/channel_loops.h"
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/fused_activations.h"
#include "weir/device/cpu/vector.h"
#include "weir/framework/constant_taker.h"
#include "weir/framework/fused_nodes.h"
#include "weir/ops/nn/convolution.h"
#include "weir/ops/nn/fused_ops.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

using ActivationLoop = void (*)(float* x, int64_t n, float alpha);

#define WEIR_ACTIVATION(Name, expression)                      \
  WEIR_VECTOR void Name(float* data, int64_t n, float alpha) { \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {     \
      const float x = data[i];                                 \
      data[i] = expression;                                    \
    }                                                          \
  }
WEIR_ACTIVATION(ReluLoop, x < 0 ? 0 : x)
WEIR_ACTIVATION(Relu6Loop, x<0 ? 0 : x> 6 ? 6 : x)
WEIR_ACTIVATION(EluLoop, x < 0 ? std::expm1(x) : x)
WEIR_ACTIVATION(TanhLoop, std::tanh(x))
WEIR_ACTIVATION(SigmoidLoop, 1 / (1 + std::exp(-x)))
WEIR_ACTIVATION(LeakyReluLoop, x >= 0 ? x : x * alpha)
#undef WEIR_ACTIVATION

WEIR_VECTOR void AddLoop(const float* x, float* to, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] += x[i];
}

struct ActivationEntry {
  std::string_view name;
  ActivationLoop loop;
  double cost_ns;
};
constexpr ActivationEntry kActivations[] = {{"Relu", ReluLoop, 0.2},     {"Relu6", Relu6Loop, 0.2},
                                            {"Elu", EluLoop, 1},         {"Tanh", TanhLoop, 1},
                                            {"Sigmoid", SigmoidLoop, 1}, {"LeakyRelu", LeakyReluLoop, 0.3}};

using nn::FusedOps;

// What is done to the columns of a result of shape `shape`, from the inputs after the first two.
class Columns {
 public:
  static StatusOr<Columns> Make(const KernelContext& ctx, const FusedOps& fused, const Shape& shape) {
    Columns out;
    out.size_ = {shape.Slice(0, shape.rank() - 1).num_elements(), shape.dim(shape.rank() - 1)};
    WEIR_RETURN_IF_ERROR(fused.CheckVectors(ctx, shape, shape.rank() - 1));
    if (fused.has_norm) {
      out.ReadNorm(ctx, fused.epsilon);
    } else {
      out.epilogue_.bias = ctx.input(2).data<float>();
    }
    if (fused.has_addend) {
      const Tensor& addend = ctx.input(ctx.num_inputs() - 1);
      if (addend.shape() == shape) {
        out.epilogue_.addend = addend.data<float>();
      } else {
        out.broadcast_addend_ = &addend;
      }
    }
    return out;
  }

  // What is to be added but is of another shape than the result; null if there is none.
  const Tensor* broadcast_addend() const { return broadcast_addend_; }

  // Valid while this is not moved.
  Epilogue epilogue() const {
    Epilogue out = epilogue_;
    if (!scale_.empty()) {
      out.scale = scale_.data();
      out.bias = shift_.data();
    }
    return out;
  }

  // By loops, in place.
  void Apply(const KernelContext& ctx, float* out) const {
    const Epilogue e = epilogue();
    if (e.scale != nullptr) {
      const std::vector<float> zeros(scale_.size());
      ScaleChannels(ctx, size_, out, zeros.data(), e.scale, e.bias, out);
    } else {
      AddToChannels(ctx, size_, out, e.bias, out);
    }
    if (e.addend == nullptr) return;
    ctx.ParallelFor(size_.rows * size_.channels, 0.3,
                    [&](int64_t begin, int64_t end) { AddLoop(e.addend + begin, out + begin, end - begin); });
  }

 private:
  // Scale, offset, mean and variance are a factor and a shift.
  void ReadNorm(const KernelContext& ctx, float epsilon) {
    const float* vectors[4];
    for (int i = 0; i < 4; ++i) vectors[i] = ctx.input(2 + i).data<float>();
    for (int64_t c = 0; c < size_.channels; ++c) {
      scale_.push_back(vectors[0][c] / std::sqrt(vectors[3][c] + epsilon));
      shift_.push_back(vectors[1][c] - vectors[2][c] * scale_.back());
    }
  }

  ChannelSize size_{};
  Epilogue epilogue_;
  const Tensor* broadcast_addend_ = nullptr;
  std::vector<float> scale_, shift_;
};

void Activate(const KernelContext& ctx, const FusedOps& fused, Tensor& out) {
  for (const ActivationEntry& entry : kActivations) {
    if (entry.name != fused.activation) continue;
    float* data = out.data<float>();
    ctx.ParallelFor(out.num_elements(), entry.cost_ns,
                    [&](int64_t begin, int64_t end) { entry.loop(data + begin, end - begin, fused.alpha); });
  }
}

// out = x + y, which have different shapes.
StatusOr<Tensor*> AddBroadcast(KernelContext& ctx, const Tensor& x, const Tensor& y) {
  WEIR_ASSIGN_OR_RETURN(Shape shape, BroadcastShape(x.shape(), y.shape()));
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return out;
  const Shape* operands[] = {&x.shape(), &y.shape()};
  const BroadcastRuns runs(shape, operands);
  const float *a = x.data<float>(), *b = y.data<float>();
  float* to = out->data<float>();
  ctx.ParallelFor(runs.rows(), 3 + static_cast<double>(runs.run()), [&](int64_t begin, int64_t end) {
    runs.ForRows(begin, end, [&](int64_t at, const auto& offsets) {
      for (int64_t i = 0; i < runs.run(); ++i) {
        to[at + i] = a[offsets[0] + i * runs.step(0)] + b[offsets[1] + i * runs.step(1)];
      }
    });
  });
  return out;
}

// The result of shape `shape` and all that is fused to it. `contract(epilogue, to)` writes the contraction of inputs 0
// and 1; it returns false if it cannot take the epilogue along, and always does without one.
template <typename Contract>
Status RunFused(KernelContext& ctx, const FusedOps& fused, const Shape& shape, Contract contract) {
  StatusOr<Columns> made = Columns::Make(ctx, fused, shape);
  if (!made.ok()) return OfFusedNode(made.status(), 1);
  const Columns columns = *std::move(made);
  // True if the contraction did all of it.
  auto compute = [&](const Epilogue& epilogue, float* to) -> StatusOr<bool> {
    if (shape.num_elements() == 0) return true;
    WEIR_ASSIGN_OR_RETURN(const bool is_done, contract(epilogue, to));
    if (is_done) return true;
    if (!epilogue.in_place) {
      WEIR_RETURN_IF_ERROR(contract(Epilogue{}, to).status());
      columns.Apply(ctx, to);
      return false;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor apart, ctx.AllocateTemp(DType::kFloat, shape));
    WEIR_RETURN_IF_ERROR(contract(Epilogue{}, apart.data<float>()).status());
    columns.Apply(ctx, apart.data<float>());
    std::memcpy(to, apart.raw_data(), apart.num_bytes());
    return false;
  };
  Epilogue epilogue = columns.epilogue();
  Tensor* out = nullptr;
  if (const Tensor* addend = columns.broadcast_addend()) {
    WEIR_ASSIGN_OR_RETURN(Tensor part, ctx.AllocateTemp(DType::kFloat, shape));
    WEIR_RETURN_IF_ERROR(compute(epilogue, part.data<float>()).status());
    StatusOr<Tensor*> sum = AddBroadcast(ctx, part, *addend);
    if (!sum.ok()) return OfFusedNode(sum.status(), 2);
    out = *sum;
  } else {
    // Sums may round otherwise in place, and whether the addend is free may depend on the threads.
    if (epilogue.addend != nullptr && !ctx.step().deterministic) {
      WEIR_ASSIGN_OR_RETURN(out, ctx.ForwardOrAllocateOutput({ctx.num_inputs() - 1}, 0, shape));
      epilogue.in_place = epilogue.addend == out->data<float>();
    } else {
      WEIR_ASSIGN_OR_RETURN(out, ctx.AllocateOutput(0, shape));
    }
    epilogue.relu = fused.library_activates;
    WEIR_ASSIGN_OR_RETURN(const bool is_done, compute(epilogue, out->data<float>()));
    if (is_done && epilogue.relu) return OkStatus();
  }
  Activate(ctx, fused, *out);
  return OkStatus();
}

class FusedConv2DKernel : public Kernel, public ConstantTaker {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FusedConv2DKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->window_, nn::ReadWindow2D(init, /*is_pool=*/false));
    WEIR_ASSIGN_OR_RETURN(std::string filter_format, init.Attr<std::string>("filter_format"));
    if (kernel->window_.channels_second || filter_format != "HWIO") {
      return Unimplemented("_FusedConv2D on the CPU only supports the NHWC format");
    }
    WEIR_ASSIGN_OR_RETURN(kernel->fused_, FusedOps::Read(init, /*allows_norm=*/true));
    for (int i = 2; i < init.num_inputs(); ++i) {
      if (init.input_type(i) != DType::kFloat) return Unimplemented("_FusedConv2D with an argument that is not float");
    }
    kernel->packed_ = nn::PackedWeightsFor(init);
    kernel->winograd_ = nn::WinogradFor(init);
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    StatusOr<nn::ConvGeometry> geometry = nn::MakeConvGeometry(window_, input.shape(), filter.shape());
    if (!geometry.ok()) return OfFusedNode(geometry.status(), 0);
    const nn::ConvGeometry& g = *geometry;
    WEIR_ASSIGN_OR_RETURN(Shape shape, g.OutputShape());
    const ConvolutionShape library = nn::LibraryShape(g);
    const Weights weights{&filter, packed_.get()};
    const float* x = input.data<float>();
    return RunFused(ctx, fused_, shape, [&](const Epilogue& epilogue, float* to) -> StatusOr<bool> {
      if (winograd_ != nullptr && winograd_->Convolve(ctx, library, x, weights, epilogue, to)) return true;
      if (Convolve(ctx, library, x, weights, epilogue, to)) return true;
      if (!epilogue.empty()) return false;
      WEIR_ASSIGN_OR_RETURN(const float* w, nn::LoopWeights(weights));
      nn::ConvolveLoops(ctx, g, x, w, to);
      return true;
    });
  }
  std::optional<TakenConstant> TakeConstant(int input, const Tensor& constant) override {
    return input == 1 ? TakeWeights(packed_, constant) : std::nullopt;
  }

 private:
  nn::Window2D window_;
  FusedOps fused_;
  std::shared_ptr<PackedWeights> packed_;
  std::unique_ptr<WinogradConvolver> winograd_;  // null unless the graph's rewriting allows it
};

// Rows [begin, end) of a product, for what the kernel library leaves.
void MultiplyLoops(const MatrixOperand& a, const MatrixOperand& b, const ProductShape& s, int64_t begin, int64_t end,
                   float* out) {
  std::vector<float> row(static_cast<size_t>(s.n));
  for (int64_t i = begin; i < end; ++i) {
    std::fill(row.begin(), row.end(), 0.0f);
    for (int64_t p = 0; p < s.k; ++p) {
      const float factor = a.data[i * a.row_stride + p * a.column_stride];
      const float* line = b.data + p * b.row_stride;
      for (int64_t j = 0; j < s.n; ++j) row[j] += factor * line[j * b.column_stride];
    }
    std::copy(row.begin(), row.end(), out + i * s.n);
  }
}

class FusedMatMulKernel : public Kernel, public ConstantTaker {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FusedMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_a_, init.Attr<bool>("transpose_a"));
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_b_, init.Attr<bool>("transpose_b"));
    WEIR_ASSIGN_OR_RETURN(kernel->fused_, FusedOps::Read(init, /*allows_norm=*/false));
    kernel->packed_ = nn::PackedWeightsFor(init);
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    const Status status = nn::CheckFusedMatMul(a.shape(), b.shape(), transpose_a_, transpose_b_);
    if (!status.ok()) return OfFusedNode(status, 0);
    const ProductShape s{1, a.dim(transpose_a_), b.dim(!transpose_b_), a.dim(!transpose_a_)};
    const Shape shape{s.m, s.n};
    const MatrixOperand x = Operand(a, transpose_a_);
    MatrixOperand y = Operand(b, transpose_b_);
    const Weights weights{&b, packed_.get()};
    return RunFused(ctx, fused_, shape, [&](const Epilogue& epilogue, float* to) -> StatusOr<bool> {
      if (MultiplyMatrices(ctx, s, x, y, epilogue, to, &weights)) return true;
      if (!epilogue.empty()) return false;
      WEIR_ASSIGN_OR_RETURN(y.data, nn::LoopWeights(weights));
      ctx.ParallelFor(s.m, 0.5 * static_cast<double>(s.n) * static_cast<double>(s.k),
                      [&](int64_t begin, int64_t end) { MultiplyLoops(x, y, s, begin, end, to); });
      return true;
    });
  }

  std::optional<TakenConstant> TakeConstant(int input, const Tensor& constant) override {
    return input == 1 ? TakeWeights(packed_, constant) : std::nullopt;
  }

 private:
  static MatrixOperand Operand(const Tensor& x, bool is_transposed) {
    const float* data = x.data<float>();
    return is_transposed ? MatrixOperand{data, 1, x.dim(1), 0} : MatrixOperand{data, x.dim(1), 1, 0};
  }

  bool transpose_a_ = false, transpose_b_ = false;
  FusedOps fused_;
  std::shared_ptr<PackedWeights> packed_;
};

}  // namespace

void RegisterFusedKernels(KernelRegistry& registry) {
  for (const ActivationEntry& activation : kActivations) OfferFusedActivation(activation.name);
  registry.Add(KernelBuilder("_FusedConv2D").Types("T", TypeList<float>{}), MakeKernel<FusedConv2DKernel>);
  registry.Add(KernelBuilder("_FusedMatMul").Types("T", TypeList<float>{}), MakeKernel<FusedMatMulKernel>);
}

}  // namespace weir
