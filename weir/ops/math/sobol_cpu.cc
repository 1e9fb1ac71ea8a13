// SobolSample: points that fill a cube more evenly than random ones.
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/register.h"
#include "weir/ops/math/sobol_directions.h"

namespace weir {
namespace {

constexpr int kBits = 31;
constexpr int kMaxDimension = 21200;  // of TensorFlow

// The directions of each dimension; bit 30 is a half.
std::vector<std::array<uint32_t, kBits>> Directions(int dimensions) {
  std::vector<std::array<uint32_t, kBits>> out(dimensions);
  for (int k = 0; k < kBits; ++k) out[0][k] = 1u << (kBits - 1 - k);
  const uint16_t* next = kSobolDirections;
  for (int d = 1; d < dimensions; ++d) {
    const int degree = *next++;
    const uint32_t coefficients = *next++;
    std::array<uint32_t, kBits>& v = out[d];
    for (int k = 0; k < kBits; ++k) {
      if (k < degree) {
        v[k] = static_cast<uint32_t>(*next++) << (kBits - 1 - k);
        continue;
      }
      v[k] = v[k - degree] ^ (v[k - degree] >> degree);
      for (int i = 1; i < degree; ++i) {
        if (coefficients >> (degree - 1 - i) & 1) v[k] ^= v[k - i];
      }
    }
  }
  return out;
}

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
    if (dim > kMaxDimension) return InvalidArgument("dim must be at most ", kMaxDimension);
    if (count < 1) return InvalidArgument("num_results must be at least one");
    if (skip < 0) return InvalidArgument("skip must be non-negative");
    constexpr int32_t kLimit = std::numeric_limits<int32_t>::max();
    if (count >= kLimit - skip) return InvalidArgument("num_results+skip must be less than ", kLimit);
    if (dim > kSobolDimensions) {
      return Unimplemented("Sobol sequences have at most ", kSobolDimensions, " dimensions here, not ", dim);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({count, dim})));
    const auto directions = Directions(dim);
    DispatchDType(out->dtype(), TypeList<float, double>{},
                  [&](auto tag) { Fill(directions, skip, out->span<typename decltype(tag)::type>()); });
    return OkStatus();
  }

 private:
  // Each point differs from the one before it by one direction; the origin, the first one, is left out.
  template <typename T>
  static void Fill(std::span<const std::array<uint32_t, kBits>> directions, uint32_t skip, std::span<T> out) {
    std::vector<uint32_t> point(directions.size(), 0);
    const uint32_t gray = skip ^ (skip >> 1);
    for (size_t d = 0; d < point.size(); ++d) {
      for (int k = 0; k < kBits; ++k) point[d] ^= (gray >> k & 1) ? directions[d][k] : 0;
    }
    for (size_t at = 0; at < out.size(); at += point.size()) {
      const int changed = std::countr_zero(++skip);
      for (size_t d = 0; d < point.size(); ++d) {
        point[d] ^= directions[d][changed];
        out[at + d] = static_cast<T>(point[d]) * (T(1) / T(1u << kBits));
      }
    }
  }
};

}  // namespace

void RegisterSobolKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SobolSample").Types("dtype", TypeList<float, double>{}), MakeKernel<SobolSampleKernel>);
}

}  // namespace weir
