#include "weir/ops/nn/cuda/attention_tiles.h"

#include "weir/base/strings.h"
#include "weir/device/cuda/blas.h"

namespace weir::cuda {
namespace {

constexpr char kSource[] = "weir/ops/nn/cuda/attention.cu";
constexpr unsigned kThreads = 128, kRows = 64, kTile = 64;  // as in the source

// These as in the source.
struct Strides {
  int64_t batch = 0, time = 0, head = 0;
};
struct Arguments {
  DeviceAddress q = 0, k = 0, v = 0, o = 0, dy = 0;
  DeviceAddress out = 0, second = 0, stats = 0, delta = 0;
  Strides q_at, k_at, v_at, o_at, dy_at, out_at, second_at;
  DeviceMask mask;
  int32_t heads = 0, queries = 0, keys = 0, is_causal = 0;
  float scale = 0;
};

Strides StridesOf(const HeadsAt& heads) { return {heads.batch, heads.time, heads.head}; }

Arguments ArgumentsOf(const TiledAttention& a) {
  Arguments out;
  out.q = a.q.address;
  out.k = a.k.address;
  out.v = a.v.address;
  out.o = a.out.address;
  out.dy = a.dout.address;
  out.q_at = StridesOf(a.q);
  out.k_at = StridesOf(a.k);
  out.v_at = StridesOf(a.v);
  out.o_at = StridesOf(a.out);
  out.dy_at = StridesOf(a.dout);
  out.stats = a.stats;
  out.mask = DeviceMaskOf(a.mask, a.mask_value);
  out.heads = static_cast<int32_t>(a.sizes.heads);
  out.queries = static_cast<int32_t>(a.sizes.queries);
  out.keys = static_cast<int32_t>(a.sizes.keys);
  out.is_causal = a.is_causal;
  out.scale = a.sizes.scale;
  return out;
}

unsigned Heads(const TiledAttention& a) { return static_cast<unsigned>(a.sizes.batch * a.sizes.heads); }

// A block for every 64 rows of a head.
Status Run(const KernelContext& ctx, std::string_view name, const TiledAttention& a, int64_t rows,
           const Arguments& arguments) {
  // Two tiles of operands, twice, and two of statistics for each row.
  const auto line = a.sizes.size * static_cast<int64_t>(SizeOf(a.dtype)) + 16;
  const int64_t shared = 4 * int64_t{kTile} * line + 4 * int64_t{kTile} * 4;
  const LaunchShape shape{.grid = static_cast<unsigned>((rows + kRows - 1) / kRows),
                          .grid_y = Heads(a),
                          .block = kThreads,
                          .shared_bytes = static_cast<unsigned>(shared)};
  const std::string instance = Cat(DeviceTypeName(a.dtype), ", ", a.sizes.size, ", ", MaskTypeOf(a.mask));
  return Launch(ctx, {kSource, Cat(name, "<", instance, ">")}, shape, arguments);
}

// cuDNN has no plan for floats.
bool IsForLibrary(const TiledAttention& a) { return a.mask.tensor == nullptr && a.dtype != DType::kFloat; }

DnnAttention DnnAttentionOf(const TiledAttention& a) {
  const nn::AttentionSizes& s = a.sizes;
  return {.dtype = a.dtype,
          .batch = s.batch,
          .heads = s.heads,
          .queries = s.queries,
          .keys = s.keys,
          .size = s.size,
          .is_causal = a.is_causal,
          .scale = s.scale,
          .q = a.q,
          .k = a.k,
          .v = a.v,
          .out = a.out,
          .stats = a.stats,
          .dout = a.dout,
          .dq = a.dq,
          .dk = a.dk,
          .dv = a.dv};
}

}  // namespace

HeadsAt HeadsOf(const Tensor& tensor, const nn::AttentionSizes& sizes, int64_t times) {
  return {.address = Address(tensor),
          .batch = sizes.batch_step(times),
          .head = sizes.head_step(times),
          .time = sizes.time_step()};
}

DeviceMask DeviceMaskOf(const nn::AttentionMask& mask, float value) {
  if (mask.tensor == nullptr) return {};
  return {Address(*mask.tensor), mask.batch, mask.head, mask.query, mask.key, value};
}
std::string MaskTypeOf(const nn::AttentionMask& mask) {
  return mask.tensor == nullptr ? std::string("void") : std::string(DeviceTypeName(mask.tensor->dtype()));
}

bool HasTiles(const nn::AttentionSizes& s, DType dtype) {
  constexpr int64_t kMost = int64_t{1} << 30;
  // Larger heads of float take more registers than there are.
  const int64_t largest = dtype != DType::kFloat ? 128 : AllowsTensorFloat32() ? 64 : 0;
  return s.size % 16 == 0 && s.size <= largest && s.queries <= kMost && s.keys <= kMost && s.batch * s.heads <= 65535;
}

Status AttendInTiles(KernelContext& ctx, const TiledAttention& a) {
  if (IsForLibrary(a)) {
    WEIR_ASSIGN_OR_RETURN(const bool is_done, RunDnnAttention(ctx, DnnAttentionOf(a)));
    if (is_done) return OkStatus();
  }
  Arguments arguments = ArgumentsOf(a);
  arguments.out = a.out.address;
  arguments.out_at = StridesOf(a.out);
  return Run(ctx, "AttentionForward", a, a.sizes.queries, arguments);
}

Status AttendBackInTiles(KernelContext& ctx, const TiledAttention& a) {
  if (IsForLibrary(a)) {
    WEIR_ASSIGN_OR_RETURN(const bool is_done, RunDnnAttentionGradient(ctx, DnnAttentionOf(a)));
    if (is_done) return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(Tensor delta, ctx.AllocateTemp(DType::kFloat, a.sizes.stats()));
  WEIR_RETURN_IF_ERROR(SumOutputsTimesGradients(ctx, a, delta));
  Arguments arguments = ArgumentsOf(a);
  arguments.delta = Address(delta);
  arguments.out = a.dk.address;
  arguments.out_at = StridesOf(a.dk);
  arguments.second = a.dv.address;
  arguments.second_at = StridesOf(a.dv);
  WEIR_RETURN_IF_ERROR(Run(ctx, "AttentionBackwardKeys", a, a.sizes.keys, arguments));
  arguments.out = a.dq.address;
  arguments.out_at = StridesOf(a.dq);
  return Run(ctx, "AttentionBackwardQueries", a, a.sizes.queries, arguments);
}

Status SumOutputsTimesGradients(KernelContext& ctx, const TiledAttention& a, const Tensor& sums) {
  Arguments arguments = ArgumentsOf(a);
  arguments.delta = Address(sums);
  const LaunchShape shape{
      .grid = static_cast<unsigned>((a.sizes.queries + 3) / 4), .grid_y = Heads(a), .block = kThreads};
  return Launch(ctx, {kSource, Cat("AttentionDelta<", DeviceTypeName(a.dtype), ", ", a.sizes.size, ">")}, shape,
                arguments);
}

}  // namespace weir::cuda
