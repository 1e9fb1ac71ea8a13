// Sequences of numbers.
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

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

class RangeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const char* const names[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; ++i) {
      const Shape& shape = ctx.input(i).shape();
      if (!shape.IsScalar() && !(shape.IsVector() && shape.dim(0) == 1)) {
        return InvalidArgument(names[i], " must be a scalar, not shape ", shape.ToString());
      }
    }
    Status status;
    DispatchDType(ctx.input(0).dtype(), RangeTypes{},
                  [&](auto tag) { status = Run<typename decltype(tag)::type>(ctx); });
    return status;
  }

 private:
  template <typename T>
  static Status Run(KernelContext& ctx) {
    using W = ComputeType<T>;
    const W start = Widen(ctx.input(0).scalar<T>()), limit = Widen(ctx.input(1).scalar<T>()),
            delta = Widen(ctx.input(2).scalar<T>());
    if (delta == 0) return InvalidArgument("Requires delta != 0: 0");
    if (delta > 0 && start > limit) {
      return InvalidArgument("Requires start <= limit when delta > 0: ", start, "/", limit);
    }
    if (delta < 0 && start < limit) {
      return InvalidArgument("Requires start >= limit when delta < 0: ", start, "/", limit);
    }
    WEIR_ASSIGN_OR_RETURN(int64_t count, RangeSize(start, limit, delta));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(std::span<const int64_t>(&count, 1)));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    T* to = out->data<T>();
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<T>) {
        to[i] = WrapAdd(start, WrapMul(static_cast<W>(i), delta));
      } else {
        to[i] = static_cast<T>(start + static_cast<W>(i) * delta);
      }
    }
    return OkStatus();
  }
};

class LinSpaceKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor start = ctx.input(0), stop = ctx.input(1);
    if (!start.shape().IsScalar()) {
      return InvalidArgument("start must be a scalar, not shape ", start.shape().ToString());
    }
    if (!stop.shape().IsScalar()) {
      return InvalidArgument("stop must be a scalar, not shape ", stop.shape().ToString());
    }
    if (!ctx.input(2).shape().IsScalar()) {
      return InvalidArgument("num must be a scalar, not shape ", ctx.input(2).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(int64_t count, IntScalar(ctx.input(2), "num"));
    if (count <= 0) return InvalidArgument("Requires num > 0: ", count);
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(std::span<const int64_t>(&count, 1)));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(out->dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using W = ComputeType<T>;
      const W first = Widen(start.scalar<T>()), last = Widen(stop.scalar<T>());
      T* to = out->data<T>();
      const W step = count > 1 ? (last - first) / static_cast<W>(count - 1) : W(0);
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(first + step * static_cast<W>(i));
      if (count > 1) to[count - 1] = static_cast<T>(last);
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterRangeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Range").Types("Tidx", RangeTypes{}), MakeKernel<RangeKernel>);
  registry.Add(KernelBuilder("LinSpace").Types("T", FloatTypes{}), MakeKernel<LinSpaceKernel>);
}

}  // namespace weir
