// Activations and their gradients, element by element.
#include <cmath>
#include <limits>

#include "weir/device/cpu/elementwise.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

// A NaN stays a NaN.
struct ReluOp {
  template <typename T>
  static T Do(T x) {
    return x < T(0) ? T(0) : x;
  }
};
struct Relu6Op {
  template <typename T>
  static T Do(T x) {
    return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
  }
};
struct EluOp {
  template <typename T>
  static T Do(T x) {
    return x < T(0) ? std::expm1(x) : x;
  }
};
// The difference, not expm1: TensorFlow's gradient sees the zero that it gives next to zero.
struct SeluOp {
  template <typename T>
  static T Do(T x) {
    return x < T(0) ? T(kSeluScaleAlpha) * (std::exp(x) - T(1)) : T(kSeluScale) * x;
  }
};
// log(1 + exp(x)), which is x for large x and exp(x) for very small ones.
struct SoftplusOp {
  template <typename T>
  static T Do(T x) {
    const T threshold = std::log(std::numeric_limits<T>::epsilon()) + T(2);
    if (x > -threshold) return x;
    const T power = std::exp(x);
    return x < threshold ? power : std::log1p(power);
  }
};
struct SoftsignOp {
  template <typename T>
  static T Do(T x) {
    return x / (T(1) + std::abs(x));
  }
};

struct ReluGradOp {
  template <typename T>
  static T Do(T gradient, T x) {
    return gradient * T(x > T(0));  // NaN where the gradient is not finite, as TensorFlow's
  }
};
struct Relu6GradOp {
  template <typename T>
  static T Do(T gradient, T x) {
    return gradient * T(x > T(0) && x < T(6));
  }
};
// Of Elu and Selu the second input is the output.
struct EluGradOp {
  template <typename T>
  static T Do(T gradient, T y) {
    return y < T(0) ? (y + T(1)) * gradient : gradient;
  }
};
struct SeluGradOp {
  template <typename T>
  static T Do(T gradient, T y) {
    return y < T(0) ? gradient * (y + T(kSeluScaleAlpha)) : gradient * T(kSeluScale);
  }
};
struct SoftplusGradOp {
  template <typename T>
  static T Do(T gradient, T x) {
    return gradient / (std::exp(-x) + T(1));
  }
};
struct SoftsignGradOp {
  template <typename T>
  static T Do(T gradient, T x) {
    const T base = T(1) + std::abs(x);
    return gradient / (base * base);
  }
};

Status SameShape(const KernelContext& ctx, const Tensor& a, const Tensor& b) {
  if (a.shape() == b.shape()) return OkStatus();
  return InvalidArgument("Inputs to operation ", ctx.node_name(), " of type ", ctx.node().schema->name,
                         " must have the same size and shape.  Input 0: ", a.shape().ToString(),
                         " != input 1: ", b.shape().ToString());
}

// A gradient: two tensors of one shape, no broadcasting.
class GradientKernel : public Kernel {
 public:
  explicit GradientKernel(BinaryLoop loop) : loop_(loop) {}
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(SameShape(ctx, ctx.input(0), ctx.input(1)));
    return RunBinary(ctx, loop_, {.cost_ns = 2});
  }

 private:
  BinaryLoop loop_;
};

template <typename Op, typename... Ts>
void RegisterGradient(KernelRegistry& registry, std::string_view op, TypeList<Ts...> types) {
  OfferFloatLoop(op, {.binary = BinaryTable<Op>(TypeList<float>{})[0].loop, .broadcasts = false, .same_shape = true});
  registry.Add(KernelBuilder(op).Types("T", types),
               [types](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
                 WEIR_ASSIGN_OR_RETURN(BinaryLoop loop, FindLoop(BinaryTable<Op>(types), init));
                 return std::make_unique<GradientKernel>(loop);
               });
}

class LeakyReluKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<LeakyReluKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->alpha_, init.Attr<float>("alpha"));
    return kernel;
  }

  // The first input is what is scaled, the last one what decides: the features of both ops.
  Status Compute(KernelContext& ctx) override {
    const int decider = ctx.num_inputs() - 1;
    const Tensor scaled = ctx.input(0);
    const Tensor features = ctx.input(decider);
    WEIR_RETURN_IF_ERROR(SameShape(ctx, scaled, features));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, features.shape()));
    DispatchDType(features.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      const C alpha = Widen(static_cast<T>(static_cast<C>(alpha_)));
      const T* from = scaled.data<T>();
      const T* x = features.data<T>();
      T* to = out->data<T>();
      ctx.ParallelFor(features.num_elements(), 1.0, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const bool keep = decider == 0 ? Widen(x[i]) >= C(0) : Widen(x[i]) > C(0);
          to[i] = keep ? from[i] : static_cast<T>(Widen(from[i]) * alpha);
        }
      });
    });
    return OkStatus();
  }

 private:
  float alpha_ = 0;
};

}  // namespace

void RegisterActivationKernels(KernelRegistry& registry) {
  RegisterUnary<ReluOp>(registry, "Relu", RealTypes{});
  RegisterUnary<Relu6Op>(registry, "Relu6", RealTypes{});
  RegisterUnary<EluOp>(registry, "Elu", FloatTypes{}, {.cost_ns = 5});
  RegisterUnary<SeluOp>(registry, "Selu", FloatTypes{}, {.cost_ns = 5});
  RegisterUnary<SoftplusOp>(registry, "Softplus", FloatTypes{}, {.cost_ns = 10});
  RegisterUnary<SoftsignOp>(registry, "Softsign", FloatTypes{});
  RegisterGradient<ReluGradOp>(registry, "ReluGrad", RealTypes{});
  RegisterGradient<Relu6GradOp>(registry, "Relu6Grad", RealTypes{});
  RegisterGradient<EluGradOp>(registry, "EluGrad", FloatTypes{});
  RegisterGradient<SeluGradOp>(registry, "SeluGrad", FloatTypes{});
  RegisterGradient<SoftplusGradOp>(registry, "SoftplusGrad", FloatTypes{});
  RegisterGradient<SoftsignGradOp>(registry, "SoftsignGrad", FloatTypes{});
  registry.Add(KernelBuilder("LeakyRelu").Types("T", FloatTypes{}), MakeKernel<LeakyReluKernel>);
  registry.Add(KernelBuilder("LeakyReluGrad").Types("T", FloatTypes{}), MakeKernel<LeakyReluKernel>);
}

}  // namespace weir
