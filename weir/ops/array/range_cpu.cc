// Sequences of numbers.
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/range.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class RangeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Status status;
    DispatchDType(ctx.input(0).dtype(), RangeTypes{},
                  [&](auto tag) { status = Run<typename decltype(tag)::type>(ctx); });
    return status;
  }

 private:
  template <typename T>
  static Status Run(KernelContext& ctx) {
    using W = ComputeType<T>;
    WEIR_ASSIGN_OR_RETURN(int64_t count, RangeCount<T>(ctx));
    const W start = Widen(ctx.input(0).scalar<T>()), delta = Widen(ctx.input(2).scalar<T>());
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
