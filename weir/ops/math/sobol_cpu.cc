// SobolSample: points that fill a cube more evenly than random ones.
#include <bit>
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/register.h"
#include "weir/ops/math/sobol_directions.h"

namespace weir {
namespace {

StatusOr<int32_t> ScalarInput(const KernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (!input.shape().IsScalar()) return InvalidArgument(ctx.node().schema->inputs[i].name, " must be a scalar");
  return input.scalar<int32_t>();
}

class SobolSampleKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const int32_t dim, ScalarInput(ctx, 0));
    WEIR_ASSIGN_OR_RETURN(const int32_t count, ScalarInput(ctx, 1));
    WEIR_ASSIGN_OR_RETURN(const int32_t skip, ScalarInput(ctx, 2));
    if (dim < 1) return InvalidArgument("dim must be at least one");
    if (dim > kMaxSobolDimensions) return InvalidArgument("dim must be at most ", kMaxSobolDimensions);
    if (count < 1) return InvalidArgument("num_results must be at least one");
    if (skip < 0) return InvalidArgument("skip must be non-negative");
    constexpr int32_t kLimit = std::numeric_limits<int32_t>::max();
    if (count >= kLimit - skip) return InvalidArgument("num_results+skip must be less than ", kLimit);
    const int64_t dims[] = {count, dim};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const std::vector<SobolDirections> directions = MakeSobolDirections(dim);
    DispatchDType(out->dtype(), TypeList<float, double>{},
                  [&](auto tag) { Fill(directions, skip, out->span<typename decltype(tag)::type>()); });
    return OkStatus();
  }

 private:
  // Each point differs from the one before it by one direction; the origin, the first one, is left out.
  template <typename T>
  static void Fill(std::span<const SobolDirections> directions, uint32_t skip, std::span<T> out) {
    std::vector<uint32_t> point(directions.size(), 0);
    const uint32_t gray = skip ^ (skip >> 1);
    for (size_t d = 0; d < point.size(); ++d) {
      for (int k = 0; k < kSobolBits; ++k) point[d] ^= (gray >> k & 1) ? directions[d][k] : 0;
    }
    for (size_t at = 0; at < out.size(); at += point.size()) {
      const int changed = std::countr_zero(++skip);
      for (size_t d = 0; d < point.size(); ++d) {
        point[d] ^= directions[d][changed];
        out[at + d] = static_cast<T>(point[d]) * (T(1) / T(1u << kSobolBits));
      }
    }
  }
};

}  // namespace

void RegisterSobolKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SobolSample").Types("dtype", TypeList<float, double>{}), MakeKernel<SobolSampleKernel>);
}

}  // namespace weir
