// L2Loss: half the sum of squares.
#include <algorithm>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/vector.h"
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

WEIR_VECTOR float SumOfFloatSquares(const float* x, int64_t n) {
  constexpr int kParts = 16;
  float part[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (int k = 0; k < kParts; ++k) part[k] += x[i + k] * x[i + k];
  }
  for (; i < n; ++i) part[i % kParts] += x[i] * x[i];
  float sum = 0;
  for (float p : part) sum += p;
  return sum;
}

// In pieces of a fixed size, so that the sum does not depend on the threads.
float SumOfFloatSquares(const KernelContext& ctx, const float* x, int64_t n) {
  constexpr int64_t kPiece = 4096;
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<float> sums(static_cast<size_t>(pieces));
  ctx.ParallelFor(pieces, 0.15 * kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      sums[p] = SumOfFloatSquares(x + p * kPiece, std::min(kPiece, n - p * kPiece));
    }
  });
  double sum = 0;
  for (float s : sums) sum += s;
  return static_cast<float>(sum);
}

class L2LossKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    if (x.dtype() == DType::kFloat) {
      *out->data<float>() = SumOfFloatSquares(ctx, x.data<float>(), x.num_elements()) * 0.5f;
      return OkStatus();
    }
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
