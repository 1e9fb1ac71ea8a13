// Softmax and LogSoftmax along the last dimension.
#include <cmath>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/exponential_rows.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

template <typename T, bool kLog>
void SoftmaxRow(const T* logits, int64_t n, T* out, ComputeType<T>* scratch) {
  using C = ComputeType<T>;
  C max = Widen(logits[0]);
  for (int64_t i = 1; i < n; ++i) {
    const C x = Widen(logits[i]);
    max = x > max || std::isnan(x) ? x : max;
  }
  C sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const C shifted = Widen(logits[i]) - max;
    const C power = std::exp(shifted);
    scratch[i] = kLog ? shifted : power;
    sum += power;
  }
  const C scale = kLog ? std::log(sum) : C(1) / sum;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(kLog ? scratch[i] - scale : scratch[i] * scale);
}

template <bool kLog>
void SoftmaxRow(const float* logits, int64_t n, float* out) {
  const float max = LargestOf(logits, n);
  if constexpr (kLog) {
    ShiftRow(logits, max, n, out);
    ShiftRow(out, std::log(SumOfExponentials(out, 0, n)), n, out);
  } else {
    MultiplyRow(out, 1 / ExponentialsOf(logits, max, n, out), n, out);
  }
}

template <bool kLog>
class SoftmaxKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor logits = ctx.input(0);
    if (logits.rank() < 1) return InvalidArgument("logits must have >= 1 dimension, got []");
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, logits.shape()));
    if (logits.num_elements() == 0) return OkStatus();
    const int64_t n = logits.dim(logits.rank() - 1);
    DispatchDType(logits.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = logits.data<T>();
      T* to = out->data<T>();
      const bool is_float = std::is_same_v<T, float>;
      const double cost = (is_float ? 1.0 : 8.0) * static_cast<double>(n);
      ctx.ParallelFor(logits.num_elements() / n, cost, [=](int64_t begin, int64_t end) {
        std::vector<ComputeType<T>> scratch(static_cast<size_t>(is_float ? 0 : n));
        for (int64_t row = begin; row < end; ++row) {
          if constexpr (is_float) {
            SoftmaxRow<kLog>(from + row * n, n, to + row * n);
          } else {
            SoftmaxRow<T, kLog>(from + row * n, n, to + row * n, scratch.data());
          }
        }
      });
    });
    return OkStatus();
  }
};

void OfferRow(std::string_view op, RowLoop row) {
  FloatLoop loop;
  loop.row = row;
  loop.cost_ns = 1;
  OfferFloatLoop(op, loop);
}

}  // namespace

void RegisterSoftmaxKernels(KernelRegistry& registry) {
  OfferRow("Softmax", &SoftmaxRow<false>);
  OfferRow("LogSoftmax", &SoftmaxRow<true>);
  registry.Add(KernelBuilder("Softmax").Types("T", FloatTypes{}), MakeKernel<SoftmaxKernel<false>>);
  registry.Add(KernelBuilder("LogSoftmax").Types("T", FloatTypes{}), MakeKernel<SoftmaxKernel<true>>);
}

}  // namespace weir
