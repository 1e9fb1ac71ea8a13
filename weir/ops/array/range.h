// How many numbers a Range has, for all devices.
#ifndef WEIR_OPS_ARRAY_RANGE_H_
#define WEIR_OPS_ARRAY_RANGE_H_

#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel.h"

namespace weir {

using RangeTypes = TypeList<float, double, int32_t, int64_t, Half, BFloat16>;

// How many values lie in [start, limit) by steps of delta. REQUIRES: delta points from start to limit.
template <typename W>
StatusOr<int64_t> RangeSize(W start, W limit, W delta) {
  if constexpr (std::is_integral_v<W>) {
    uint64_t span = start < limit ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
    uint64_t count = span / step + (span % step != 0);
    if (count > static_cast<uint64_t>(INT64_MAX))
      return InvalidArgument("Requires ((limit - start) / delta) <= 2^63 - 1");
    return static_cast<int64_t>(count);
  } else {
    double count = std::ceil(std::abs((limit - start) / delta));
    if (!(count <= 9.2e18)) return InvalidArgument("Requires ((limit - start) / delta) <= 2^63 - 1");
    return static_cast<int64_t>(count);
  }
}

// Of the inputs start, limit and delta, which are in the host's memory.
template <typename T>
StatusOr<int64_t> RangeCount(const KernelContext& ctx) {
  using W = ComputeType<T>;
  const char* const names[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    const Shape& shape = ctx.input(i).shape();
    if (!shape.IsScalar() && !(shape.IsVector() && shape.dim(0) == 1)) {
      return InvalidArgument(names[i], " must be a scalar, not shape ", shape.ToString());
    }
  }
  const W start = Widen(ctx.input(0).scalar<T>()), limit = Widen(ctx.input(1).scalar<T>()),
          delta = Widen(ctx.input(2).scalar<T>());
  if (delta == 0) return InvalidArgument("Requires delta != 0: 0");
  if (delta > 0 && start > limit) {
    return InvalidArgument("Requires start <= limit when delta > 0: ", start, "/", limit);
  }
  if (delta < 0 && start < limit) {
    return InvalidArgument("Requires start >= limit when delta < 0: ", start, "/", limit);
  }
  return RangeSize(start, limit, delta);
}

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_RANGE_H_
