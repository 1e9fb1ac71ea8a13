#include "weir/device/cpu/winograd.h"

#include <algorithm>
#include <span>

#include "absl/functional/function_ref.h"
#include "weir/device/cpu/winograd_tiles_internal.h"
#include "weir/framework/constant_taker.h"
#include "weir/framework/kernel.h"
#include "weir/tensor/tensor.h"

namespace weir {
namespace {

using namespace winograd;

// Transformed filters that stay: others would take more memory than they save time.
constexpr int64_t kMaxKeptBytes = 5 << 20;
// The sums of one thread for the gradient by the filter, which every block of tiles reads and writes.
constexpr int64_t kMaxSumBytes = 4 << 20;
// Fewer tiles a thread are not worth sums of its own.
constexpr int64_t kMinTilesOfASum = 64;
// Fewer tiles do not pay for a filter that is read in 16/9 of its size; nor, below the second, for transforming it.
constexpr int64_t kMinTiles = 40, kMinTilesToTransform = 256;

// Memory of floats, freed at its end; null if there is none.
class Floats {
 public:
  explicit Floats(int64_t count)
      : bytes_(static_cast<size_t>(count) * sizeof(float)), data_(static_cast<float*>(CpuAllocate(bytes_))) {}
  ~Floats() {
    if (data_ != nullptr) CpuDeallocate(data_, bytes_);
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* get() const { return data_; }

 private:
  const size_t bytes_;
  float* const data_;
};

bool Fits(const ConvolutionShape& s) {
  if (!HasVectors() || s.rank != 2 || s.groups != 1) return false;
  if (s.in_channels % kLanes != 0 || s.out_channels % kLanes != 0) return false;
  for (int i = 0; i < 2; ++i) {
    const ConvolutionShape::Axis& a = s.axes[i];
    if (a.filter != 3 && a.filter != 5) return false;
    if (a.stride != 1 || a.dilation != 1 || a.before < 0 || a.before >= a.filter) return false;
  }
  return s.in_channels * s.out_channels < (1 << 24);  // so that places in a filter are numbers of 32 bits
}

Tiling Forward(const ConvolutionShape& s) {
  const ConvolutionShape::Axis &h = s.axes[0], &w = s.axes[1];
  return {s.batch,        h.input,  w.input,  s.in_channels, h.output,  w.output,
          s.out_channels, h.before, w.before, {h.filter},    {w.filter}};
}
// A convolution of the gradient with the turned filter.
Tiling Backward(const ConvolutionShape& s) {
  const ConvolutionShape::Axis &h = s.axes[0], &w = s.axes[1];
  return {s.batch,
          h.output,
          w.output,
          s.out_channels,
          h.input,
          w.input,
          s.in_channels,
          h.filter - 1 - h.before,
          w.filter - 1 - w.before,
          {h.filter},
          {w.filter}};
}

// Odd sizes make tiles that are half empty.
bool IsWorth(const Tiling& t, int64_t min_tiles) {
  return t.tiles() >= min_tiles && 4 * t.rows() * t.columns() * 10 <= 14 * t.height * t.width;
}

void TransformInParallel(const KernelContext& ctx, const Tiling& t, const float* filter, bool is_turned, float* to) {
  ctx.ParallelFor(t.in_channels, 2.0 * t.h.count() * t.w.count() * static_cast<double>(t.channels),
                  [&](int64_t begin, int64_t end) { TransformFilter(t, filter, is_turned, begin, end, to); });
}

// How the tiles are shared out: the same number of blocks for each thread.
struct Blocks {
  int threads;
  int64_t count;
  Blocks(const KernelContext& ctx, const Tiling& t) : threads(std::max(1, ctx.step().intra_op->num_threads())) {
    count = (t.tiles() + t.block() - 1) / t.block();
    count = (count + threads - 1) / threads * threads;
  }
  // Of the largest: on many threads less than a thread's cache could hold.
  int64_t tiles(const Tiling& t) const { return (t.tiles() + count - 1) / count; }
};

// `run` is given a number below `blocks.threads` that no other call has at the time.
void ForBlocks(const KernelContext& ctx, const Tiling& t, const Blocks& blocks,
               absl::FunctionRef<void(int thread, int64_t begin, int64_t end)> run) {
  absl::Mutex mu;
  std::vector<int> free;  // never empty when a part begins: no more run at a time than there are threads
  for (int i = blocks.threads; i > 0; --i) free.push_back(i - 1);
  ctx.ParallelFor(blocks.count, t.cost_ns() / static_cast<double>(blocks.count), [&](int64_t begin, int64_t end) {
    int own;
    {
      absl::MutexLock lock(&mu);
      own = free.back();
      free.pop_back();
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = t.tiles() * i / blocks.count, to = t.tiles() * (i + 1) / blocks.count;
      if (from < to) run(own, from, to);
    }
    absl::MutexLock lock(&mu);
    free.push_back(own);
  });
}

// `filter`: transformed, or null and made of `plain`.
bool Run(const KernelContext& ctx, const Tiling& t, const float* input, const float* filter, const float* plain,
         bool is_turned, const Epilogue& epilogue, float* output) {
  const Blocks blocks(ctx, t);
  const int64_t block_floats = BlockFloats(t, blocks.tiles(t));
  const int64_t filter_floats = filter == nullptr ? kPoints * t.filter_stride() : 0;
  const Floats memory(blocks.threads * block_floats + filter_floats);
  if (memory.get() == nullptr) return false;
  if (filter == nullptr) {
    float* made = memory.get() + blocks.threads * block_floats;
    TransformInParallel(ctx, t, plain, is_turned, made);
    filter = made;
  }
  ForBlocks(ctx, t, blocks, [&](int thread, int64_t begin, int64_t end) {
    ConvolveTiles(t, input, filter, epilogue, begin, end, memory.get() + thread * block_floats, output);
  });
  return true;
}

bool RunFilter(const KernelContext& ctx, const Tiling& t, const float* input, const float* gradient,
               float* filter_gradient) {
  const Blocks blocks(ctx, t);
  if (t.tiles() < blocks.threads * kMinTilesOfASum) return false;
  const int64_t block_floats = BlockFloats(t, blocks.tiles(t)), sum_floats = kPoints * t.filter_stride();
  const Floats memory(blocks.threads * (block_floats + sum_floats));
  if (memory.get() == nullptr) return false;
  std::vector<float*> sums(static_cast<size_t>(blocks.threads), nullptr);  // of those that took part
  ForBlocks(ctx, t, blocks, [&](int thread, int64_t begin, int64_t end) {
    float* own = memory.get() + thread * (block_floats + sum_floats);
    if (sums[thread] == nullptr) {
      sums[thread] = own + block_floats;
      std::fill_n(sums[thread], sum_floats, 0.0f);
    }
    AccumulateTiles(t, input, gradient, begin, end, own, sums[thread]);
  });
  std::erase(sums, nullptr);
  ctx.ParallelFor(t.in_channels, 2.0 * t.h.count() * t.w.count() * static_cast<double>(t.channels),
                  [&](int64_t begin, int64_t end) { FinishFilter(t, sums, begin, end, filter_gradient); });
  return true;
}

}  // namespace

struct WinogradConvolver::Kept {
  Kept(const Tensor& constant, int64_t count) : of(constant), filter(count) {}
  const Tensor of;  // holds its memory, which names it
  Floats filter;
};

WinogradConvolver::WinogradConvolver() = default;
WinogradConvolver::~WinogradConvolver() = default;
bool WinogradConvolver::IsAvailable() { return HasVectors(); }

const float* WinogradConvolver::Find(const KernelContext& ctx, const ConvolutionShape& shape, const Weights& filter) {
  const Tiling t = Forward(shape);
  const float* plain = PlainElements(filter);
  if (plain == nullptr) return nullptr;
  absl::MutexLock lock(&mu_);
  for (const auto& kept : kept_) {
    if (kept->of.raw_data() == plain) return kept->filter.get();
  }
  // One that was taken lives as long as the kernel does.
  const Tensor named = IsAbsent(*filter.tensor)
                           ? Tensor::Wrap(DType::kFloat, filter.tensor->shape(), const_cast<float*>(plain), nullptr)
                           : *filter.tensor;
  auto made = std::make_unique<Kept>(named, kPoints * t.filter_stride());
  if (made->filter.get() == nullptr) return nullptr;
  TransformInParallel(ctx, t, plain, /*is_turned=*/false, made->filter.get());
  return kept_.emplace_back(std::move(made))->filter.get();
}

bool WinogradConvolver::Convolve(const KernelContext& ctx, const ConvolutionShape& shape, const float* input,
                                 const Weights& filter, const Epilogue& epilogue, float* output) {
  if (!Fits(shape)) return false;
  const Tiling t = Forward(shape);
  const bool is_kept = filter.packed != nullptr && t.filter_bytes() <= kMaxKeptBytes;
  if (!IsWorth(t, is_kept ? kMinTiles : kMinTilesToTransform)) return false;
  if (is_kept) {
    const float* transformed = Find(ctx, shape, filter);
    return transformed != nullptr && Run(ctx, t, input, transformed, nullptr, false, epilogue, output);
  }
  const float* plain = PlainElements(filter);
  return plain != nullptr && Run(ctx, t, input, nullptr, plain, /*is_turned=*/false, epilogue, output);
}

bool WinogradConvolver::BackwardInput(const KernelContext& ctx, const ConvolutionShape& shape, const float* filter,
                                      const float* gradient, float* input_gradient) {
  if (!Fits(shape)) return false;
  const Tiling t = Backward(shape);
  return IsWorth(t, kMinTilesToTransform) &&
         Run(ctx, t, gradient, nullptr, filter, /*is_turned=*/true, {}, input_gradient);
}

bool WinogradConvolver::BackwardFilter(const KernelContext& ctx, const ConvolutionShape& shape, const float* input,
                                       const float* gradient, float* filter_gradient) {
  if (ctx.step().deterministic || !Fits(shape)) return false;
  const Tiling t = Forward(shape);
  return t.filter_bytes() <= kMaxSumBytes && IsWorth(t, kMinTilesToTransform) &&
         RunFilter(ctx, t, input, gradient, filter_gradient);
}

}  // namespace weir
