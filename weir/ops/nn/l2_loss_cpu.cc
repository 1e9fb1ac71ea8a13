// L2Loss: half the sum of squares.
#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

// Halves, so that rounding errors grow with the logarithm of the length only.
template <typename T, typename C>
C SumOfSquares(const T* x, int64_t n) {
  constexpr int64_t kLeaf = 64;
  if (n > kLeaf) return SumOfSquares<T, C>(x, n / 2) + SumOfSquares<T, C>(x + n / 2, n - n / 2);
  C sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const C value = Widen(x[i]);
    sum += value * value;
  }
  return sum;
}

class L2LossKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    DispatchDType(x.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      *out->data<T>() = static_cast<T>(SumOfSquares<T, C>(x.data<T>(), x.num_elements()) * C(0.5));
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterL2LossKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("L2Loss").Types("T", FloatTypes{}), MakeKernel<L2LossKernel>);
}

}  // namespace weir
