// _Attention and its gradient on GPUs. Half and bfloat16: long sequences without a mask of their own by cuDNN, others
// by kernels that keep no scores either. Float, and heads of odd sizes, by products of cuBLASLt, a batch at a time,
// with the scores of that batch in memory.
#include "weir/ops/nn/attention.h"

#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/dnn_attention.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

using nn::AttentionAttrs;
using nn::AttentionMask;
using nn::AttentionSizes;

constexpr char kSource[] = "weir/ops/nn/cuda/attention.cu", kScoresSource[] = "weir/ops/nn/cuda/attention_scores.cu";
constexpr unsigned kThreads = 128, kRows = 64, kTile = 64;  // as in the source

// These as in the source.
struct Strides {
  int64_t batch = 0, time = 0, head = 0;
};
struct Mask {
  DeviceAddress data = 0;
  int64_t batch = 0, head = 0, query = 0, key = 0;
  float value = 0;
};
struct AttentionArguments {
  DeviceAddress q = 0, k = 0, v = 0, o = 0, dy = 0;
  DeviceAddress out = 0, second = 0, stats = 0, delta = 0;
  Strides q_at, k_at, v_at, o_at, dy_at, out_at, second_at;
  Mask mask;
  int32_t heads = 0, queries = 0, keys = 0, is_causal = 0;
  float scale = 0;
};

Strides StridesOf(const AttentionSizes& s, int64_t times) {
  return {s.batch_step(times), s.time_step(), s.head_step(times)};
}

Mask DeviceMask(const AttentionMask& mask, const AttentionAttrs& attrs) {
  if (mask.tensor == nullptr) return {};
  return {Address(*mask.tensor), mask.batch, mask.head, mask.query, mask.key, attrs.mask_value};
}
std::string MaskType(const AttentionMask& mask) {
  return mask.tensor == nullptr ? std::string("void") : std::string(DeviceTypeName(mask.tensor->dtype()));
}

unsigned Blocks(int64_t rows) { return static_cast<unsigned>((rows + kRows - 1) / kRows); }

// Whether the kernels that keep no scores take such heads.
bool HasTiles(const AttentionSizes& s, DType dtype) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return dtype != DType::kFloat && s.size % 16 == 0 && s.size <= 128 && s.queries <= kMost && s.keys <= kMost &&
         s.batch * s.heads <= 65535;
}

Status Convert(KernelContext& ctx, const Tensor& from, const Tensor& to) {
  const std::string name = Cat("ConvertElements<", DeviceTypeName(from.dtype()), ", ", DeviceTypeName(to.dtype()), ">");
  return LaunchOver(ctx, {kScoresSource, name}, from.num_elements(), Address(from), Address(to), from.num_elements());
}
// A tensor as float: itself, or a copy.
StatusOr<Tensor> AsFloat(KernelContext& ctx, const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat) return tensor;
  WEIR_ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kFloat, tensor.shape()));
  WEIR_RETURN_IF_ERROR(Convert(ctx, tensor, wide));
  return wide;
}
// Memory for a result in float: its own, or some that Convert brings there.
StatusOr<Tensor> RoomFor(KernelContext& ctx, const Tensor& result) {
  if (result.dtype() == DType::kFloat) return result;
  return ctx.AllocateTemp(DType::kFloat, result.shape());
}

// The two tiles of operands, twice, and two of statistics for each row.
unsigned SharedBytes(const AttentionSizes& s) {
  return static_cast<unsigned>(4 * kTile * (s.size + 8) * 2 + 4 * kTile * sizeof(float));
}

Status Run(const KernelContext& ctx, std::string_view name, const AttentionSizes& s, DType dtype, int64_t rows,
           const AttentionMask& mask, const AttentionArguments& arguments) {
  const LaunchShape shape{.grid = Blocks(rows),
                          .grid_y = static_cast<unsigned>(s.batch * s.heads),
                          .block = kThreads,
                          .shared_bytes = SharedBytes(s)};
  return Launch(ctx, {kSource, Cat(name, "<", DeviceTypeName(dtype), ", ", s.size, ", ", MaskType(mask), ">")}, shape,
                arguments);
}

AttentionArguments ArgumentsOf(const KernelContext& ctx, const AttentionSizes& s, const AttentionMask& mask,
                               const AttentionAttrs& attrs) {
  AttentionArguments a;
  a.q = Address(ctx.input(0));
  a.k = Address(ctx.input(1));
  a.v = Address(ctx.input(2));
  a.q_at = a.o_at = a.dy_at = StridesOf(s, s.queries);
  a.k_at = a.v_at = StridesOf(s, s.keys);
  a.heads = static_cast<int32_t>(s.heads);
  a.queries = static_cast<int32_t>(s.queries);
  a.keys = static_cast<int32_t>(s.keys);
  a.is_causal = attrs.is_causal;
  a.mask = DeviceMask(mask, attrs);
  a.scale = s.scale;
  return a;
}

DnnAttention::Strides DnnStridesOf(const AttentionSizes& s, int64_t times) {
  return {.batch = s.batch_step(times), .head = s.head_step(times), .time = s.time_step()};
}
DnnAttention DnnAttentionOf(const AttentionSizes& s, DType dtype, const AttentionAttrs& attrs) {
  return {.dtype = dtype,
          .batch = s.batch,
          .heads = s.heads,
          .queries = s.queries,
          .keys = s.keys,
          .size = s.size,
          .query_at = DnnStridesOf(s, s.queries),
          .key_at = DnnStridesOf(s, s.keys),
          .is_causal = attrs.is_causal,
          .scale = s.scale};
}
DnnAttentionTensors DnnTensorsOf(const KernelContext& ctx, const Tensor& out, const Tensor& stats) {
  return {.q = Address(ctx.input(0)),
          .k = Address(ctx.input(1)),
          .v = Address(ctx.input(2)),
          .out = Address(out),
          .stats = Address(stats)};
}

// Products for all heads of one batch of float tensors.
class HeadProducts {
 public:
  HeadProducts(KernelContext& ctx, const AttentionSizes& s) : ctx_(ctx), s_(s) {}

  // scores[heads, queries, keys] = rows * columns^T
  Status Scores(DeviceAddress rows, DeviceAddress columns, DeviceAddress scores) const {
    MatrixProduct p{.batch = s_.heads, .m = s_.queries, .n = s_.keys, .k = s_.size, .transpose_b = true};
    p.a_row = p.b_row = s_.time_step();
    p.a_step = s_.head_step(s_.queries);
    p.b_step = s_.head_step(s_.keys);
    p.out_step = s_.queries * s_.keys;
    return Multiply(ctx_, p, rows, columns, scores);
  }
  // out[queries, heads, size] = scores * rows
  Status ForQueries(DeviceAddress scores, DeviceAddress rows, DeviceAddress out) const {
    MatrixProduct p{.batch = s_.heads, .m = s_.queries, .n = s_.size, .k = s_.keys};
    p.a_step = s_.queries * s_.keys;
    p.b_row = p.out_row = s_.time_step();
    p.b_step = s_.head_step(s_.keys);
    p.out_step = s_.head_step(s_.queries);
    return Multiply(ctx_, p, scores, rows, out);
  }
  // out[keys, heads, size] = scores^T * rows
  Status ForKeys(DeviceAddress scores, DeviceAddress rows, DeviceAddress out) const {
    MatrixProduct p{.batch = s_.heads, .m = s_.keys, .n = s_.size, .k = s_.queries, .transpose_a = true};
    p.a_step = s_.queries * s_.keys;
    p.b_row = p.out_row = s_.time_step();
    p.b_step = s_.head_step(s_.queries);
    p.out_step = s_.head_step(s_.keys);
    return Multiply(ctx_, p, scores, rows, out);
  }

  LaunchShape RowsShape() const {
    unsigned block = 32;
    while (block < 1024 && static_cast<int64_t>(block) * 4 < s_.keys) block *= 2;
    const int64_t rows = std::min<int64_t>(s_.heads * s_.queries, 1 << 20);
    return {.grid = static_cast<unsigned>(rows), .block = block};
  }

 private:
  KernelContext& ctx_;
  const AttentionSizes& s_;
};

// The mask of a batch.
Mask BatchOf(const Mask& mask, const AttentionMask& of, int64_t batch) {
  Mask part = mask;
  if (of.tensor != nullptr) part.data += static_cast<size_t>(batch * mask.batch) * SizeOf(of.tensor->dtype());
  return part;
}
// Where a batch begins in a tensor.
DeviceAddress BatchOf(const Tensor& tensor, int64_t batch) {
  return Address(tensor) + static_cast<size_t>(batch) * (tensor.num_bytes() / static_cast<size_t>(tensor.dim(0)));
}

class GpuAttentionKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuAttentionKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, AttentionAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const AttentionSizes s, SizesOfAttention(ctx, attrs_, /*is_gradient=*/false));
    WEIR_ASSIGN_OR_RETURN(const AttentionMask mask, MaskOfAttention(ctx, attrs_, s, /*is_gradient=*/false));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * stats, ctx.AllocateOutput(1, s.stats()));
    if (s.IsEmpty()) {
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
      return FillZero(ctx, Address(*stats), stats->num_bytes());
    }
    if (!HasTiles(s, out->dtype())) return ComputeFloat(ctx, s, mask, *out, *stats);
    if (mask.tensor == nullptr) {
      WEIR_ASSIGN_OR_RETURN(const bool is_done, RunDnnAttention(ctx, DnnAttentionOf(s, out->dtype(), attrs_),
                                                                DnnTensorsOf(ctx, *out, *stats)));
      if (is_done) return OkStatus();
    }
    AttentionArguments arguments = ArgumentsOf(ctx, s, mask, attrs_);
    arguments.out = Address(*out);
    arguments.out_at = arguments.q_at;
    arguments.stats = Address(*stats);
    return Run(ctx, "AttentionForward", s, out->dtype(), s.queries, mask, arguments);
  }

 private:
  Status ComputeFloat(KernelContext& ctx, const AttentionSizes& s, const AttentionMask& mask, const Tensor& out,
                      const Tensor& stats) const {
    const HeadProducts products(ctx, s);
    Tensor inputs[3];
    for (int i = 0; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(inputs[i], AsFloat(ctx, ctx.input(i)));
    }
    WEIR_ASSIGN_OR_RETURN(const Tensor result, RoomFor(ctx, out));
    WEIR_ASSIGN_OR_RETURN(Tensor scores, ctx.AllocateTemp(DType::kFloat, Shape({s.heads, s.queries, s.keys})));
    for (int64_t b = 0; b < s.batch; ++b) {
      WEIR_RETURN_IF_ERROR(products.Scores(BatchOf(inputs[0], b), BatchOf(inputs[1], b), Address(scores)));
      WEIR_RETURN_IF_ERROR(
          Launch(ctx, {kScoresSource, Cat("AttentionWeights<", attrs_.is_causal, ", ", MaskType(mask), ">")},
                 products.RowsShape(), Address(scores), BatchOf(stats, b), s.heads * s.queries, s.queries, s.keys,
                 s.scale, BatchOf(DeviceMask(mask, attrs_), mask, b)));
      WEIR_RETURN_IF_ERROR(products.ForQueries(Address(scores), BatchOf(inputs[2], b), BatchOf(result, b)));
    }
    return out.dtype() == DType::kFloat ? OkStatus() : Convert(ctx, result, out);
  }

  AttentionAttrs attrs_;
};

class GpuAttentionGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuAttentionGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, AttentionAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const AttentionSizes s, SizesOfAttention(ctx, attrs_, /*is_gradient=*/true));
    WEIR_ASSIGN_OR_RETURN(const AttentionMask mask, MaskOfAttention(ctx, attrs_, s, /*is_gradient=*/true));
    Tensor* out[3];
    for (int i = 0; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, ctx.input(i).shape()));
      if (s.IsEmpty()) WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out[i]), out[i]->num_bytes()));
    }
    if (s.IsEmpty()) return OkStatus();
    const DType dtype = out[0]->dtype();
    if (HasTiles(s, dtype) && mask.tensor == nullptr) {
      const DnnAttentionGradients gradients{
          .dout = Address(ctx.input(5)), .dq = Address(*out[0]), .dk = Address(*out[1]), .dv = Address(*out[2])};
      WEIR_ASSIGN_OR_RETURN(const bool is_done,
                            RunDnnAttentionGradient(ctx, DnnAttentionOf(s, dtype, attrs_),
                                                    DnnTensorsOf(ctx, ctx.input(3), ctx.input(4)), gradients));
      if (is_done) return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor delta, ctx.AllocateTemp(DType::kFloat, s.stats()));
    if (!HasTiles(s, dtype)) return ComputeFloat(ctx, s, mask, out, delta);
    AttentionArguments arguments = ArgumentsOf(ctx, s, mask, attrs_);
    arguments.o = Address(ctx.input(3));
    arguments.stats = Address(ctx.input(4));
    arguments.dy = Address(ctx.input(5));
    arguments.delta = Address(delta);
    WEIR_RETURN_IF_ERROR(FindDelta(ctx, s, dtype, arguments));
    arguments.out = Address(*out[1]);
    arguments.out_at = arguments.k_at;
    arguments.second = Address(*out[2]);
    arguments.second_at = arguments.v_at;
    WEIR_RETURN_IF_ERROR(Run(ctx, "AttentionBackwardKeys", s, dtype, s.keys, mask, arguments));
    arguments.out = Address(*out[0]);
    arguments.out_at = arguments.q_at;
    return Run(ctx, "AttentionBackwardQueries", s, dtype, s.queries, mask, arguments);
  }

 private:
  // For each query the sum of its output times the gradient.
  Status FindDelta(KernelContext& ctx, const AttentionSizes& s, DType dtype,
                   const AttentionArguments& arguments) const {
    const LaunchShape shape{.grid = static_cast<unsigned>((s.queries + 3) / 4),
                            .grid_y = static_cast<unsigned>(s.batch * s.heads),
                            .block = kThreads};
    return Launch(ctx, {kSource, Cat("AttentionDelta<", DeviceTypeName(dtype), ", ", s.size, ">")}, shape, arguments);
  }

  Status ComputeFloat(KernelContext& ctx, const AttentionSizes& s, const AttentionMask& mask, Tensor* const* out,
                      const Tensor& delta) const {
    Tensor inputs[6], results[3];
    for (int i : {0, 1, 2, 3, 5}) {
      WEIR_ASSIGN_OR_RETURN(inputs[i], AsFloat(ctx, ctx.input(i)));
    }
    for (int i = 0; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(results[i], RoomFor(ctx, *out[i]));
    }
    AttentionArguments arguments = ArgumentsOf(ctx, s, mask, attrs_);
    arguments.o = Address(inputs[3]);
    arguments.dy = Address(inputs[5]);
    arguments.delta = Address(delta);
    WEIR_RETURN_IF_ERROR(FindDelta(ctx, s, DType::kFloat, arguments));
    const HeadProducts products(ctx, s);
    const Shape shape({s.heads, s.queries, s.keys});
    WEIR_ASSIGN_OR_RETURN(Tensor weights, ctx.AllocateTemp(DType::kFloat, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor slopes, ctx.AllocateTemp(DType::kFloat, shape));
    for (int64_t b = 0; b < s.batch; ++b) {
      const DeviceAddress q = BatchOf(inputs[0], b), k = BatchOf(inputs[1], b), v = BatchOf(inputs[2], b),
                          dy = BatchOf(inputs[5], b);
      WEIR_RETURN_IF_ERROR(products.Scores(q, k, Address(weights)));
      WEIR_RETURN_IF_ERROR(products.Scores(dy, v, Address(slopes)));
      WEIR_RETURN_IF_ERROR(
          Launch(ctx, {kScoresSource, Cat("AttentionSlopes<", attrs_.is_causal, ", ", MaskType(mask), ">")},
                 products.RowsShape(), Address(weights), Address(slopes), BatchOf(ctx.input(4), b), BatchOf(delta, b),
                 s.heads * s.queries, s.queries, s.keys, s.scale, BatchOf(DeviceMask(mask, attrs_), mask, b)));
      WEIR_RETURN_IF_ERROR(products.ForQueries(Address(slopes), k, BatchOf(results[0], b)));
      WEIR_RETURN_IF_ERROR(products.ForKeys(Address(slopes), q, BatchOf(results[1], b)));
      WEIR_RETURN_IF_ERROR(products.ForKeys(Address(weights), dy, BatchOf(results[2], b)));
    }
    for (int i = 0; i < 3 && out[i]->dtype() != DType::kFloat; ++i) {
      WEIR_RETURN_IF_ERROR(Convert(ctx, results[i], *out[i]));
    }
    return OkStatus();
  }

  AttentionAttrs attrs_;
};

}  // namespace

void RegisterAttentionKernels(GpuRegistry& registry) {
  const std::vector<DType> types = {DType::kFloat, DType::kHalf, DType::kBFloat16};
  registry.kernels().Add(OnGpu("_Attention").Types("T", types), MakeKernel<GpuAttentionKernel>);
  registry.kernels().Add(OnGpu("_AttentionGrad").Types("T", types), MakeKernel<GpuAttentionGradKernel>);
}

}  // namespace weir::cuda
