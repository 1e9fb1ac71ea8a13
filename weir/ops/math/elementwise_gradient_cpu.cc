// Gradients of unary functions in terms of their value y and the gradient dy of it. They do not broadcast. Of complex
// values SigmoidGrad and TanhGrad leave the conjugation to their caller.
#include <cmath>

#include "weir/device/cpu/elementwise.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

template <typename T>
T Conj(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

struct SigmoidGradOp {
  template <typename T>
  static T Do(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};

struct TanhGradOp {
  template <typename T>
  static T Do(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};

struct ReciprocalGradOp {
  template <typename T>
  static T Do(T y, T dy) {
    y = Conj(y);
    return -dy * y * y;
  }
};

// No gradient stays none, where the slope is infinite too.
struct SqrtGradOp {
  template <typename T>
  static T Do(T y, T dy) {
    if (dy == T(0)) return T(0);
    return dy * T(0.5) / Conj(y);
  }
};

struct RsqrtGradOp {
  template <typename T>
  static T Do(T y, T dy) {
    y = Conj(y);
    return T(-0.5) * dy * y * (y * y);
  }
};

constexpr double kCostNs = 1;

class ElementwiseGradientKernel : public Kernel {
 public:
  explicit ElementwiseGradientKernel(BinaryLoop loop) : loop_(loop) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& y = ctx.input(0);
    const Tensor& dy = ctx.input(1);
    if (!(y.shape() == dy.shape())) {
      if (y.num_elements() != dy.num_elements()) {
        return InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                               y.num_elements(), " and ", dy.num_elements());
      }
      WEIR_ASSIGN_OR_RETURN(ctx.input_slot(1).tensor, dy.Reshaped(y.shape()));
    }
    return RunBinary(ctx, loop_, {.cost_ns = kCostNs});
  }

 private:
  const BinaryLoop loop_;
};

template <typename Op, typename... Ts>
void RegisterGradient(KernelRegistry& registry, std::string_view op, TypeList<Ts...> types) {
  OfferFloatLoop(op,
                 {.binary = elementwise_internal::ChooseBinary<Op, float>(), .cost_ns = kCostNs, .broadcasts = false});
  registry.Add(KernelBuilder(op).Types("T", types), [](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(BinaryLoop loop, FindLoop(BinaryTable<Op>(TypeList<Ts...>{}), init));
    return std::make_unique<ElementwiseGradientKernel>(loop);
  });
}

}  // namespace

void RegisterElementwiseGradientKernels(KernelRegistry& registry) {
  auto types = FloatTypes{} + ComplexTypes{};
  RegisterGradient<SigmoidGradOp>(registry, "SigmoidGrad", types);
  RegisterGradient<TanhGradOp>(registry, "TanhGrad", types);
  RegisterGradient<ReciprocalGradOp>(registry, "ReciprocalGrad", types);
  RegisterGradient<ReciprocalGradOp>(registry, "InvGrad", types);
  RegisterGradient<SqrtGradOp>(registry, "SqrtGrad", types);
  RegisterGradient<RsqrtGradOp>(registry, "RsqrtGrad", types);
}

}  // namespace weir
