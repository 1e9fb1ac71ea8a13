// Comparisons.
#include <cmath>

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct EqualOp {
  template <typename T>
  static bool Do(T a, T b) {
    return a == b;
  }
};

struct NotEqualOp {
  template <typename T>
  static bool Do(T a, T b) {
    return !(a == b);
  }
};

struct LessOp {
  template <typename T>
  static bool Do(T a, T b) {
    return a < b;
  }
};

struct LessEqualOp {
  template <typename T>
  static bool Do(T a, T b) {
    return a <= b;
  }
};

struct GreaterOp {
  template <typename T>
  static bool Do(T a, T b) {
    return a > b;
  }
};

struct GreaterEqualOp {
  template <typename T>
  static bool Do(T a, T b) {
    return a >= b;
  }
};

// Equal and NotEqual: shapes that do not broadcast are an error, or one answer for the whole tensors.
class EqualityKernel : public Kernel {
 public:
  EqualityKernel(BinaryLoop loop, bool shapes_must_fit, bool answer)
      : loop_(loop), shapes_must_fit_(shapes_must_fit), answer_(answer) {}
  Status Compute(KernelContext& ctx) override {
    if (!shapes_must_fit_ && !CanBroadcast(ctx.input(0).shape(), ctx.input(1).shape())) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
      *out->data<bool>() = answer_;
      return OkStatus();
    }
    return RunBinary(ctx, loop_, {});
  }

 private:
  const BinaryLoop loop_;
  const bool shapes_must_fit_;
  const bool answer_;
};

template <typename Op, typename... Ts>
void RegisterEquality(KernelRegistry& registry, std::string_view op, bool answer, TypeList<Ts...> types) {
  registry.Add(KernelBuilder(op).Types("T", types),
               [answer](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
                 WEIR_ASSIGN_OR_RETURN(bool shapes_must_fit, init.Attr<bool>("incompatible_shape_error"));
                 WEIR_ASSIGN_OR_RETURN(BinaryLoop loop, FindLoop(BinaryTable<Op>(TypeList<Ts...>{}), init));
                 return std::make_unique<EqualityKernel>(loop, shapes_must_fit, answer);
               });
}

class ApproximateEqualKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ApproximateEqualKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->tolerance_, init.Attr<float>("tolerance"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    if (!(x.shape() == y.shape())) {
      return InvalidArgument("x and y must be of the same shape. x shape: ", x.shape().ToString(),
                             ". y shape: ", y.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    bool* to = out->data<bool>();
    DispatchDType(x.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T *a = x.data<T>(), *b = y.data<T>();
      const auto tolerance = static_cast<ComputeType<T>>(tolerance_);
      for (int64_t i = 0; i < x.num_elements(); ++i) to[i] = std::abs(Widen(a[i]) - Widen(b[i])) < tolerance;
    });
    return OkStatus();
  }

 private:
  float tolerance_ = 0;
};

}  // namespace

void RegisterCompareKernels(KernelRegistry& registry) {
  auto equality_types = NumberTypes{} + TypeList<bool, std::string>{} + QuantizedTypes{};
  RegisterEquality<EqualOp>(registry, "Equal", false, equality_types);
  RegisterEquality<NotEqualOp>(registry, "NotEqual", true, equality_types);
  RegisterBinary<LessOp>(registry, "Less", RealTypes{});
  RegisterBinary<LessEqualOp>(registry, "LessEqual", RealTypes{});
  RegisterBinary<GreaterOp>(registry, "Greater", RealTypes{});
  RegisterBinary<GreaterEqualOp>(registry, "GreaterEqual", RealTypes{});
  registry.Add(KernelBuilder("ApproximateEqual").Types("T", TypeList<float, double>{}),
               MakeKernel<ApproximateEqualKernel>);
}

}  // namespace weir
