// Where the extremes are.
#include <limits>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/vector.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/kernel_shapes.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

using ArgMaxTypes = decltype(RealTypes{} + TypeList<bool>{});

// The first of equals along the middle axis of [outer, n, inner]; a NaN never wins.
template <bool kMax, typename T>
void FindExtremes(const T* x, int64_t outer, int64_t n, int64_t inner, int64_t* out) {
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const T* from = x + o * n * inner + i;
      int64_t best_at = 0;
      auto best = Widen(from[0]);
      for (int64_t k = 1; k < n; ++k) {
        auto value = Widen(from[k * inner]);
        bool better = (kMax ? value > best : value < best) || (best != best && value == value);
        if (better) {
          best = value;
          best_at = k;
        }
      }
      out[o * inner + i] = best_at;
    }
  }
}

// The same along rows of floats: the extreme first, then where it is.
template <bool kMax>
WEIR_VECTOR int64_t FindInRow(const float* x, int64_t n) {
  constexpr int kParts = 16;
  float part[kParts];
  for (float& p : part) p = kMax ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (int k = 0; k < kParts; ++k) part[k] = (kMax ? x[i + k] > part[k] : x[i + k] < part[k]) ? x[i + k] : part[k];
  }
  for (; i < n; ++i) part[0] = (kMax ? x[i] > part[0] : x[i] < part[0]) ? x[i] : part[0];
  float best = part[0];
  for (float p : part) best = (kMax ? p > best : p < best) ? p : best;
  constexpr int64_t kBlock = 64;
  for (i = 0; i + kBlock <= n; i += kBlock) {
    int equal = 0;
    for (int64_t k = 0; k < kBlock; ++k) equal |= x[i + k] == best;
    if (equal) break;
  }
  for (; i < n; ++i) {
    if (x[i] == best) return i;
  }
  return 0;  // nothing but NaN
}

template <bool kMax>
class ArgExtremeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    Shape shape;
    WEIR_ASSIGN_OR_RETURN(AxisSizes sizes, ArgExtremeAxis(ctx, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t outer = sizes.outer, n = sizes.n, inner = sizes.inner;
    std::vector<int64_t> found(shape.num_elements());
    DispatchDType(x.dtype(), ArgMaxTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t row = n * inner;
      if constexpr (std::is_same_v<T, float>) {
        if (inner == 1) {
          ctx.ParallelFor(outer, 0.2 * row, [&](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; ++o) found[o] = FindInRow<kMax>(x.data<float>() + o * row, row);
          });
          return;
        }
      }
      ctx.ParallelFor(outer, 1.0 * row, [&](int64_t begin, int64_t end) {
        FindExtremes<kMax>(x.data<T>() + begin * row, end - begin, n, inner, found.data() + begin * inner);
      });
    });
    DispatchDType(out->dtype(), IntegerTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < found.size(); ++i) out->data<T>()[i] = static_cast<T>(found[i]);
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterArgMaxKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ArgMax")
                   .Types("T", ArgMaxTypes{})
                   .Types("output_type", TypeList<int32_t, int64_t, int16_t, uint16_t>{}),
               MakeKernel<ArgExtremeKernel<true>>);
  registry.Add(KernelBuilder("ArgMin").Types("T", ArgMaxTypes{}).Types("output_type", IndexTypes{}),
               MakeKernel<ArgExtremeKernel<false>>);
}

}  // namespace weir
