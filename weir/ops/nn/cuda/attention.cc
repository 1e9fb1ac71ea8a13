// _Attention and its gradient on GPUs: without a matrix of scores where attention_tiles.h can; heads of odd sizes,
// large heads of float, and float in full precision, by products of cuBLASLt, a batch at a time, with the scores of
// that batch in memory. Attention of packed projections is only there for what needs no scores.
#include "weir/ops/nn/attention.h"

#include "weir/device/cuda/blas.h"
#include "weir/ops/nn/cuda/attention_tiles.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

using nn::AttentionAttrs;
using nn::AttentionMask;
using nn::AttentionSizes;

constexpr char kScoresSource[] = "weir/ops/nn/cuda/attention_scores.cu";

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
DeviceMask BatchOf(const DeviceMask& mask, const AttentionMask& of, int64_t batch) {
  DeviceMask part = mask;
  if (of.tensor != nullptr) part.data += static_cast<size_t>(batch * mask.batch) * SizeOf(of.tensor->dtype());
  return part;
}
// Where a batch begins in a tensor.
DeviceAddress BatchOf(const Tensor& tensor, int64_t batch) {
  return Address(tensor) + static_cast<size_t>(batch) * (tensor.num_bytes() / static_cast<size_t>(tensor.dim(0)));
}

// Attention of the inputs, but for what it writes.
TiledAttention TiledOf(const KernelContext& ctx, const AttentionSizes& s, const AttentionMask& mask,
                       const AttentionAttrs& attrs) {
  return {.dtype = ctx.input(0).dtype(),
          .sizes = s,
          .mask = mask,
          .is_causal = attrs.is_causal,
          .mask_value = attrs.mask_value,
          .q = HeadsOf(ctx.input(0), s, s.queries),
          .k = HeadsOf(ctx.input(1), s, s.keys),
          .v = HeadsOf(ctx.input(2), s, s.keys)};
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
    TiledAttention attention = TiledOf(ctx, s, mask, attrs_);
    attention.out = HeadsOf(*out, s, s.queries);
    attention.stats = Address(*stats);
    return AttendInTiles(ctx, attention);
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
          Launch(ctx, {kScoresSource, Cat("AttentionWeights<", attrs_.is_causal, ", ", MaskTypeOf(mask), ">")},
                 products.RowsShape(), Address(scores), BatchOf(stats, b), s.heads * s.queries, s.queries, s.keys,
                 s.scale, BatchOf(DeviceMaskOf(mask, attrs_.mask_value), mask, b)));
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
    if (!HasTiles(s, out[0]->dtype())) {
      WEIR_ASSIGN_OR_RETURN(Tensor delta, ctx.AllocateTemp(DType::kFloat, s.stats()));
      return ComputeFloat(ctx, s, mask, out, delta);
    }
    TiledAttention attention = TiledOf(ctx, s, mask, attrs_);
    attention.out = HeadsOf(ctx.input(3), s, s.queries);
    attention.stats = Address(ctx.input(4));
    attention.dout = HeadsOf(ctx.input(5), s, s.queries);
    attention.dq = HeadsOf(*out[0], s, s.queries);
    attention.dk = HeadsOf(*out[1], s, s.keys);
    attention.dv = HeadsOf(*out[2], s, s.keys);
    return AttendBackInTiles(ctx, attention);
  }

 private:
  Status ComputeFloat(KernelContext& ctx, const AttentionSizes& s, const AttentionMask& mask, Tensor* const* out,
                      const Tensor& delta) const {
    Tensor inputs[6], results[3];
    for (int i : {0, 1, 2, 3, 5}) {
      WEIR_ASSIGN_OR_RETURN(inputs[i], AsFloat(ctx, ctx.input(i)));
    }
    for (int i = 0; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(results[i], RoomFor(ctx, *out[i]));
    }
    const TiledAttention sums{.dtype = DType::kFloat,
                              .sizes = s,
                              .out = HeadsOf(inputs[3], s, s.queries),
                              .dout = HeadsOf(inputs[5], s, s.queries)};
    WEIR_RETURN_IF_ERROR(SumOutputsTimesGradients(ctx, sums, delta));
    const HeadProducts products(ctx, s);
    const Shape shape({s.heads, s.queries, s.keys});
    WEIR_ASSIGN_OR_RETURN(Tensor weights, ctx.AllocateTemp(DType::kFloat, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor slopes, ctx.AllocateTemp(DType::kFloat, shape));
    for (int64_t b = 0; b < s.batch; ++b) {
      const DeviceAddress q = BatchOf(inputs[0], b), k = BatchOf(inputs[1], b), v = BatchOf(inputs[2], b),
                          dy = BatchOf(inputs[5], b);
      WEIR_RETURN_IF_ERROR(products.Scores(q, k, Address(weights)));
      WEIR_RETURN_IF_ERROR(products.Scores(dy, v, Address(slopes)));
      WEIR_RETURN_IF_ERROR(Launch(
          ctx, {kScoresSource, Cat("AttentionSlopes<", attrs_.is_causal, ", ", MaskTypeOf(mask), ">")},
          products.RowsShape(), Address(weights), Address(slopes), BatchOf(ctx.input(4), b), BatchOf(delta, b),
          s.heads * s.queries, s.queries, s.keys, s.scale, BatchOf(DeviceMaskOf(mask, attrs_.mask_value), mask, b)));
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

// Queries, keys and values next to each other, [batch, times, 3 * heads * size].
class GpuPackedAttentionKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuPackedAttentionKernel>();
    kernel->is_gradient_ = init.schema().name.ends_with("Grad");
    WEIR_ASSIGN_OR_RETURN(kernel->heads_, init.Attr<int64_t>("heads"));
    WEIR_ASSIGN_OR_RETURN(kernel->is_causal_, init.Attr<bool>("causal"));
    WEIR_ASSIGN_OR_RETURN(kernel->scale_, init.Attr<float>("scale"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& packed = ctx.input(0);
    const Shape& shape = packed.shape();
    if (shape.rank() != 3 || shape.dim(2) % (3 * heads_) != 0) {
      return InvalidArgument("Packed attention of ", heads_, " heads takes [batch, times, 3 * heads * size], got ",
                             shape.ToString());
    }
    const AttentionSizes s{.batch = shape.dim(0),
                           .queries = shape.dim(1),
                           .keys = shape.dim(1),
                           .heads = heads_,
                           .size = shape.dim(2) / (3 * heads_),
                           .heads_first = false,
                           .scale = scale_};
    if (!s.IsEmpty() && !HasTiles(s, packed.dtype())) {
      return Unimplemented("Packed attention with heads of ", s.size, " elements of ", Name(packed.dtype()));
    }
    const Shape heads({s.batch, s.queries, s.heads, s.size});
    TiledAttention attention{.dtype = packed.dtype(), .sizes = s, .is_causal = is_causal_};
    attention.q = PartOf(packed, s, 0);
    attention.k = PartOf(packed, s, 1);
    attention.v = PartOf(packed, s, 2);
    if (is_gradient_) {
      if (ctx.input(1).shape() != heads || ctx.input(2).shape() != s.stats() || ctx.input(3).shape() != heads) {
        return InvalidArgument("The gradient of packed attention of ", shape.ToString(), " does not fit outputs of ",
                               ctx.input(1).shape().ToString());
      }
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
      if (s.IsEmpty()) return FillZero(ctx, Address(*out), out->num_bytes());
      attention.out = HeadsOf(ctx.input(1), s, s.queries);
      attention.stats = Address(ctx.input(2));
      attention.dout = HeadsOf(ctx.input(3), s, s.queries);
      attention.dq = PartOf(*out, s, 0);
      attention.dk = PartOf(*out, s, 1);
      attention.dv = PartOf(*out, s, 2);
      return AttendBackInTiles(ctx, attention);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, heads));
    WEIR_ASSIGN_OR_RETURN(Tensor * stats, ctx.AllocateOutput(1, s.stats()));
    if (s.IsEmpty()) return OkStatus();
    attention.out = HeadsOf(*out, s, s.queries);
    attention.stats = Address(*stats);
    return AttendInTiles(ctx, attention);
  }

 private:
  static HeadsAt PartOf(const Tensor& packed, const AttentionSizes& s, int64_t part) {
    const int64_t width = s.heads * s.size;
    return {.address = Address(packed) + static_cast<size_t>(part * width) * SizeOf(packed.dtype()),
            .batch = s.queries * 3 * width,
            .head = s.size,
            .time = 3 * width};
  }

  bool is_gradient_ = false, is_causal_ = false;
  int64_t heads_ = 1;
  float scale_ = 0;
};

}  // namespace

void RegisterAttentionKernels(GpuRegistry& registry) {
  const std::vector<DType> types = {DType::kFloat, DType::kHalf, DType::kBFloat16};
  registry.kernels().Add(OnGpu("_Attention").Types("T", types), MakeKernel<GpuAttentionKernel>);
  registry.kernels().Add(OnGpu("_AttentionGrad").Types("T", types), MakeKernel<GpuAttentionGradKernel>);
  for (const char* op : {"_PackedAttention", "_PackedAttentionGrad"}) {
    registry.kernels().Add(OnGpu(op).Types("T", {DType::kHalf, DType::kBFloat16}),
                           MakeKernel<GpuPackedAttentionKernel>);
  }
}

}  // namespace weir::cuda
