// Special functions as elementwise kernels; all computed in double.
#include <cmath>
#include <limits>

#include "weir/device/cpu/elementwise.h"
#include "weir/device/cpu/float_functions.h"
#include "weir/device/cpu/special_functions.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

template <double (*kFunction)(double)>
struct Unary {
  template <typename T>
  static T Do(T x) {
    return static_cast<T>(kFunction(static_cast<double>(x)));
  }
};

template <double (*kFunction)(double, double)>
struct Binary {
  template <typename T>
  static T Do(T a, T b) {
    return static_cast<T>(kFunction(static_cast<double>(a), static_cast<double>(b)));
  }
};

template <double (*kOfFloats)(double, double), double (*kOfDoubles)(double, double)>
struct ByPrecision {
  template <typename T>
  static T Do(T a, T b) {
    return static_cast<T>((std::is_same_v<T, float> ? kOfFloats : kOfDoubles)(a, b));
  }
};

// TensorFlow's rational function in double is NaN at the infinities.
struct ErfOp {
  template <typename T>
  static T Do(T x) {
    if constexpr (std::is_same_v<T, double>) {
      if (std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
    }
    return std::erf(x);
  }
  static constexpr UnaryLoop kFloats = &ErfFloats;
};
struct ErfcOp {
  template <typename T>
  static T Do(T x) {
    return std::erfc(x);
  }
};

// At 0 TensorFlow has minus infinity in double alone.
struct BesselY1Op {
  template <typename T>
  static T Do(T x) {
    if (!std::is_same_v<T, double> && x == T(0)) return std::numeric_limits<T>::quiet_NaN();
    return static_cast<T>(BesselY1(static_cast<double>(x)));
  }
};

using Floats = TypeList<float, double>;
constexpr ElementwiseOptions kCost = {.cost_ns = 100};

// Three operands of one shape, or scalars among them.
class BetaincKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const char* const names[] = {"a", "b", "x"};
    Shape shape;
    int from = -1;
    for (int i = 0; i < 3; ++i) {
      const Shape& operand = ctx.input(i).shape();
      if (operand.IsScalar()) continue;
      if (from < 0) {
        shape = operand;
        from = i;
      } else if (!(operand == shape)) {
        return InvalidArgument("Shapes of ", names[from], " and ", names[i], " are inconsistent: ", shape.ToString(),
                               " vs. ", operand.ToString());
      }
    }
    const Tensor a = ctx.input(0), b = ctx.input(1), x = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(out->dtype(), Floats{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int steps[] = {!a.shape().IsScalar(), !b.shape().IsScalar(), !x.shape().IsScalar()};
      T* to = out->data<T>();
      ctx.ParallelFor(shape.num_elements(), 200, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          to[i] =
              static_cast<T>(Betainc(a.data<T>()[i * steps[0]], b.data<T>()[i * steps[1]], x.data<T>()[i * steps[2]]));
        }
      });
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterSpecialFunctionKernels(KernelRegistry& registry) {
  RegisterUnary<ErfOp>(registry, "Erf", FloatTypes{}, {.cost_ns = 2});
  RegisterUnary<ErfcOp>(registry, "Erfc", FloatTypes{}, {.cost_ns = 10});
  RegisterUnary<Unary<LogGamma>>(registry, "Lgamma", FloatTypes{}, {.cost_ns = 20});
  RegisterUnary<Unary<Digamma>>(registry, "Digamma", FloatTypes{}, {.cost_ns = 20});
  RegisterUnary<Unary<Erfinv>>(registry, "Erfinv", FloatTypes{}, kCost);
  RegisterUnary<Unary<Ndtri>>(registry, "Ndtri", FloatTypes{}, kCost);
  RegisterUnary<Unary<Dawson>>(registry, "Dawsn", FloatTypes{}, kCost);
  RegisterUnary<Unary<ExponentialIntegral>>(registry, "Expint", FloatTypes{}, kCost);
  RegisterUnary<Unary<FresnelSine>>(registry, "FresnelSin", FloatTypes{}, kCost);
  RegisterUnary<Unary<FresnelCosine>>(registry, "FresnelCos", FloatTypes{}, kCost);
  RegisterUnary<Unary<Spence>>(registry, "Spence", FloatTypes{}, kCost);
  RegisterBinary<Binary<Igamma>>(registry, "Igamma", FloatTypes{}, kCost);
  RegisterBinary<Binary<Igammac>>(registry, "Igammac", FloatTypes{}, kCost);
  RegisterBinary<Binary<IgammaGradA>>(registry, "IgammaGradA", Floats{}, kCost);
  RegisterBinary<ByPrecision<ShortHurwitzZeta, HurwitzZeta>>(registry, "Zeta", Floats{}, kCost);
  RegisterBinary<ByPrecision<ShortPolygamma, Polygamma>>(registry, "Polygamma", Floats{}, kCost);
  registry.Add(KernelBuilder("Betainc").Types("T", Floats{}), MakeKernel<BetaincKernel>);
}

void RegisterBesselKernels(KernelRegistry& registry) {
  RegisterUnary<Unary<BesselI0>>(registry, "BesselI0", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselI0e>>(registry, "BesselI0e", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselI1>>(registry, "BesselI1", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselI1e>>(registry, "BesselI1e", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselK0>>(registry, "BesselK0", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselK0e>>(registry, "BesselK0e", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselK1>>(registry, "BesselK1", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselK1e>>(registry, "BesselK1e", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselJ0>>(registry, "BesselJ0", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselJ1>>(registry, "BesselJ1", FloatTypes{}, kCost);
  RegisterUnary<Unary<BesselY0>>(registry, "BesselY0", FloatTypes{}, kCost);
  RegisterUnary<BesselY1Op>(registry, "BesselY1", FloatTypes{}, kCost);
}

}  // namespace weir
