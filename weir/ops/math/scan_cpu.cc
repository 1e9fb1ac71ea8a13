// Running sums and products along an axis: Cumsum, Cumprod, CumulativeLogsumexp.
#include <cmath>
#include <limits>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/kernel_shapes.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct ScanSum {
  template <typename A>
  static A Start() {
    return A(0);
  }
  template <typename A>
  static A Next(A a, A x) {
    return WrapAdd(a, x);
  }
};

struct ScanProd {
  template <typename A>
  static A Start() {
    return A(1);
  }
  template <typename A>
  static A Next(A a, A x) {
    return WrapMul(a, x);
  }
};

// log(exp(a) + exp(x)) without overflow.
struct ScanLogSumExp {
  template <typename A>
  static A Start() {
    return -std::numeric_limits<A>::infinity();
  }
  template <typename A>
  static A Next(A a, A x) {
    // Like TensorFlow's, a comparison with NaN takes the sum so far, and two infinities give NaN.
    const A low = x < a ? x : a, high = a < x ? x : a;
    if (high < std::numeric_limits<A>::lowest()) return high;
    return high + std::log1p(std::exp(low - high));
  }
};

template <typename Op, typename Types>
class ScanKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ScanKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->exclusive_, init.Attr<bool>("exclusive"));
    WEIR_ASSIGN_OR_RETURN(kernel->reverse_, init.Attr<bool>("reverse"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(AxisSizes sizes, ScanAxis(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    if (x.num_elements() == 0) return OkStatus();
    const int64_t outer = sizes.outer, n = sizes.n, inner = sizes.inner;
    DispatchDType(x.dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = x.data<T>();
      T* to = out->data<T>();
      ctx.ParallelFor(outer * inner, 2.0 * n, [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          const int64_t base = line / inner * n * inner + line % inner;
          auto total = Op::template Start<ComputeType<T>>();
          for (int64_t k = 0; k < n; ++k) {
            const int64_t at = base + (reverse_ ? n - 1 - k : k) * inner;
            const auto next = Op::Next(total, Widen(from[at]));
            to[at] = static_cast<T>(exclusive_ ? total : next);
            total = next;
          }
        }
      });
    });
    return OkStatus();
  }

 private:
  bool exclusive_ = false;
  bool reverse_ = false;
};

}  // namespace

void RegisterScanKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Cumsum").Types("T", NumberTypes{}), MakeKernel<ScanKernel<ScanSum, NumberTypes>>);
  registry.Add(KernelBuilder("Cumprod").Types("T", NumberTypes{}), MakeKernel<ScanKernel<ScanProd, NumberTypes>>);
  registry.Add(KernelBuilder("CumulativeLogsumexp").Types("T", FloatTypes{}),
               MakeKernel<ScanKernel<ScanLogSumExp, FloatTypes>>);
}

}  // namespace weir
