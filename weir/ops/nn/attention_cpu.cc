// _Attention and _AttentionGrad on the host: a query at a time, without a matrix of scores.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/nn/attention.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

using nn::AttentionAttrs;
using nn::AttentionMask;
using nn::AttentionSizes;

// The rows of one head.
template <typename T>
struct Head {
  T* first;
  int64_t row;
  Head(T* base, const AttentionSizes& s, int64_t times, int64_t batch, int64_t head)
      : first(base + batch * s.batch_step(times) + head * s.head_step(times)), row(s.time_step()) {}
  T* at(int64_t time) const { return first + time * row; }
};

template <typename A, typename B>
float Dot(const A* a, const B* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<float>(Widen(a[i])) * static_cast<float>(Widen(b[i]));
  return sum;
}

// How many keys a query sees: under a causal mask those up to its own place.
int64_t KeysOf(const AttentionAttrs& attrs, const AttentionSizes& s, int64_t query) {
  return attrs.is_causal ? std::min(s.keys, query + 1) : s.keys;
}

// What a mask makes of the scores of a head.
class HeadMask {
 public:
  HeadMask(const AttentionMask& mask, const AttentionAttrs& attrs, int64_t batch, int64_t head)
      : mask_(mask), value_(Floor(attrs.mask_value)), first_(batch * mask.batch + head * mask.head) {}

  float Apply(float score, int64_t query, int64_t key) const {
    if (mask_.tensor == nullptr) return score;
    const int64_t at = first_ + query * mask_.query + key * mask_.key;
    switch (mask_.tensor->dtype()) {
      case DType::kBool:
        return mask_.tensor->data<bool>()[at] ? score : value_;
      case DType::kHalf:
        return Floor(score + static_cast<float>(mask_.tensor->data<Half>()[at]));
      case DType::kBFloat16:
        return Floor(score + static_cast<float>(mask_.tensor->data<BFloat16>()[at]));
      default:
        return Floor(score + mask_.tensor->data<float>()[at]);
    }
  }
  // Whether the score does not matter.
  bool Hides(int64_t query, int64_t key) const {
    return mask_.tensor != nullptr && mask_.tensor->dtype() == DType::kBool &&
           !mask_.tensor->data<bool>()[first_ + query * mask_.query + key * mask_.key];
  }

 private:
  static float Floor(float score) { return score < nn::kLowestScore && score != -INFINITY ? nn::kLowestScore : score; }

  const AttentionMask& mask_;
  const float value_;
  const int64_t first_;
};

template <typename T>
class AttentionKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AttentionKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, AttentionAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const AttentionSizes s, SizesOfAttention(ctx, attrs_, /*is_gradient=*/false));
    WEIR_ASSIGN_OR_RETURN(const AttentionMask mask, MaskOfAttention(ctx, attrs_, s, /*is_gradient=*/false));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * stats, ctx.AllocateOutput(1, s.stats()));
    if (s.IsEmpty()) {
      std::ranges::fill(out->span<T>(), T(0.0f));
      std::ranges::fill(stats->span<float>(), 0.0f);
      return OkStatus();
    }
    const T *q = ctx.input(0).data<T>(), *k = ctx.input(1).data<T>(), *v = ctx.input(2).data<T>();
    T* y = out->data<T>();
    float* logs = stats->data<float>();
    const double cost = static_cast<double>(s.queries * s.keys * s.size);
    ctx.ParallelFor(s.batch * s.heads, cost, [&](int64_t begin, int64_t end) {
      std::vector<float> weights(s.keys), sums(s.size);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / s.heads, head = i % s.heads;
        const Head<const T> queries(q, s, s.queries, batch, head), keys(k, s, s.keys, batch, head),
            values(v, s, s.keys, batch, head);
        const Head<T> results(y, s, s.queries, batch, head);
        const HeadMask head_mask(mask, attrs_, batch, head);
        for (int64_t query = 0; query < s.queries; ++query) {
          const int64_t count = KeysOf(attrs_, s, query);
          for (int64_t key = 0; key < count; ++key) {
            weights[key] = head_mask.Apply(Dot(queries.at(query), keys.at(key), s.size) * s.scale, query, key);
          }
          logs[i * s.queries + query] = Attend(s, values, count, weights, sums);
          for (int64_t c = 0; c < s.size; ++c) results.at(query)[c] = T(sums[c]);
        }
      }
    });
    return OkStatus();
  }

 private:
  // The mean of the values, weighted by scores, in `sums`; returns the logarithm of the sum of exponentials.
  static float Attend(const AttentionSizes& s, const Head<const T>& values, int64_t count,
                      const std::vector<float>& scores, std::vector<float>& sums) {
    float max = -INFINITY, total = 0;
    for (int64_t key = 0; key < count; ++key) max = std::max(max, scores[key]);
    std::ranges::fill(sums, 0.0f);
    for (int64_t key = 0; key < count; ++key) {
      const float weight = std::exp(scores[key] - max);
      total += weight;
      for (int64_t c = 0; c < s.size; ++c) sums[c] += weight * static_cast<float>(Widen(values.at(key)[c]));
    }
    for (float& sum : sums) sum /= total;
    return max + std::log(total);
  }

  AttentionAttrs attrs_;
};

template <typename T>
class AttentionGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AttentionGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, AttentionAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const AttentionSizes s, SizesOfAttention(ctx, attrs_, /*is_gradient=*/true));
    WEIR_ASSIGN_OR_RETURN(const AttentionMask mask, MaskOfAttention(ctx, attrs_, s, /*is_gradient=*/true));
    Tensor* outputs[3];
    for (int i = 0; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(outputs[i], ctx.AllocateOutput(i, ctx.input(i).shape()));
      if (s.IsEmpty()) std::ranges::fill(outputs[i]->template span<T>(), T(0.0f));
    }
    if (s.IsEmpty()) return OkStatus();
    const double cost = 3.0 * static_cast<double>(s.queries * s.keys * s.size);
    ctx.ParallelFor(s.batch * s.heads, cost, [&](int64_t begin, int64_t end) {
      std::vector<float> dq(s.size), dk(s.keys * s.size), dv(s.keys * s.size);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / s.heads, head = i % s.heads;
        auto rows = [&](int input, int64_t times) {
          return Head<const T>(ctx.input(input).data<T>(), s, times, batch, head);
        };
        auto to = [&](int output, int64_t times) {
          return Head<T>(outputs[output]->template data<T>(), s, times, batch, head);
        };
        const Head<const T> q = rows(0, s.queries), k = rows(1, s.keys), v = rows(2, s.keys), y = rows(3, s.queries),
                            dy = rows(5, s.queries);
        const float* logs = ctx.input(4).data<float>() + i * s.queries;
        std::ranges::fill(dk, 0.0f);
        std::ranges::fill(dv, 0.0f);
        const Head<T> to_q = to(0, s.queries);
        const HeadMask head_mask(mask, attrs_, batch, head);
        for (int64_t query = 0; query < s.queries; ++query) {
          const float delta = Dot(y.at(query), dy.at(query), s.size);
          std::ranges::fill(dq, 0.0f);
          for (int64_t key = 0; key < KeysOf(attrs_, s, query); ++key) {
            const float score = head_mask.Apply(Dot(q.at(query), k.at(key), s.size) * s.scale, query, key);
            const float weight = std::exp(score - logs[query]);
            const float slope =
                head_mask.Hides(query, key) ? 0 : weight * (Dot(dy.at(query), v.at(key), s.size) - delta) * s.scale;
            for (int64_t c = 0; c < s.size; ++c) {
              dv[key * s.size + c] += weight * static_cast<float>(Widen(dy.at(query)[c]));
              dk[key * s.size + c] += slope * static_cast<float>(Widen(q.at(query)[c]));
              dq[c] += slope * static_cast<float>(Widen(k.at(key)[c]));
            }
          }
          for (int64_t c = 0; c < s.size; ++c) to_q.at(query)[c] = T(dq[c]);
        }
        const Head<T> to_k = to(1, s.keys), to_v = to(2, s.keys);
        for (int64_t key = 0; key < s.keys; ++key) {
          for (int64_t c = 0; c < s.size; ++c) {
            to_k.at(key)[c] = T(dk[key * s.size + c]);
            to_v.at(key)[c] = T(dv[key * s.size + c]);
          }
        }
      }
    });
    return OkStatus();
  }

 private:
  AttentionAttrs attrs_;
};

}  // namespace

void RegisterAttentionKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("_Attention").Types("T", {DType::kFloat}), MakeKernel<AttentionKernel<float>>);
  registry.Add(KernelBuilder("_Attention").Types("T", {DType::kHalf}), MakeKernel<AttentionKernel<Half>>);
  registry.Add(KernelBuilder("_Attention").Types("T", {DType::kBFloat16}), MakeKernel<AttentionKernel<BFloat16>>);
  registry.Add(KernelBuilder("_AttentionGrad").Types("T", {DType::kFloat}), MakeKernel<AttentionGradKernel<float>>);
  registry.Add(KernelBuilder("_AttentionGrad").Types("T", {DType::kHalf}), MakeKernel<AttentionGradKernel<Half>>);
  registry.Add(KernelBuilder("_AttentionGrad").Types("T", {DType::kBFloat16}),
               MakeKernel<AttentionGradKernel<BFloat16>>);
}

}  // namespace weir
