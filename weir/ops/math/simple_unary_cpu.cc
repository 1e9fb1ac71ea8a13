// Signs, squares, roots and rounding.
#include <cmath>

#include "weir/device/cpu/elementwise.h"
#include "weir/device/cpu/float_functions.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct NegOp {
  template <typename T>
  static T Do(T x) {
    if constexpr (std::is_integral_v<T>) {
      return WrapSub(T(0), x);
    } else {
      return -x;
    }
  }
};

struct AbsOp {
  template <typename T>
  static T Do(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x < 0 ? WrapSub(T(0), x) : x;
    } else {
      return std::abs(x);
    }
  }
};

struct SignOp {
  template <typename T>
  static T Do(T x) {
    if constexpr (kIsComplex<T>) {
      return x == T(0) ? T(0) : x / std::abs(x);
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>((x > 0) - (x < 0));
    } else {
      return x > 0 ? T(1) : x < 0 ? T(-1) : x != x ? x : T(0);
    }
  }
};

struct SquareOp {
  template <typename T>
  static T Do(T x) {
    return WrapMul(x, x);
  }
};

struct SqrtOp {
  template <typename T>
  static T Do(T x) {
    return std::sqrt(x);
  }
};

struct RsqrtOp {
  template <typename T>
  static T Do(T x) {
    return T(1) / std::sqrt(x);
  }
  static constexpr UnaryLoop kFloats = &RsqrtFloats;
};

struct ReciprocalOp {
  template <typename T>
  static T Do(T x) {
    return T(1) / x;
  }
};

struct FloorOp {
  template <typename T>
  static T Do(T x) {
    return std::floor(x);
  }
};

struct CeilOp {
  template <typename T>
  static T Do(T x) {
    return std::ceil(x);
  }
};

// To the nearest, halves to even. Of integers TensorFlow makes zero, and so do we: its clients never ask (tf.round
// leaves integers alone), and stored graphs give the same result on both.
struct RoundOp {
  template <typename T>
  static T Do(T x) {
    if constexpr (std::is_integral_v<T>) {
      return 0;
    } else {
      return std::nearbyint(x);
    }
  }
};

}  // namespace

void RegisterSimpleUnaryKernels(KernelRegistry& registry) {
  auto inexact = FloatTypes{} + ComplexTypes{};
  RegisterUnary<NegOp>(registry, "Neg", inexact + SignedTypes{});
  RegisterUnary<AbsOp>(registry, "Abs", FloatTypes{} + SignedTypes{});
  RegisterUnary<SignOp>(registry, "Sign", inexact + SignedTypes{});
  RegisterUnary<SquareOp>(registry, "Square", NumberTypes{});
  RegisterUnary<SqrtOp>(registry, "Sqrt", inexact, {.cost_ns = 2});
  RegisterUnary<RsqrtOp>(registry, "Rsqrt", inexact, {.cost_ns = 1});
  RegisterUnary<ReciprocalOp>(registry, "Reciprocal", inexact, {.cost_ns = 1});
  RegisterUnary<ReciprocalOp>(registry, "Inv", inexact, {.cost_ns = 1});
}

void RegisterRoundingKernels(KernelRegistry& registry) {
  RegisterUnary<FloorOp>(registry, "Floor", FloatTypes{}, {.cost_ns = 1});
  RegisterUnary<CeilOp>(registry, "Ceil", FloatTypes{}, {.cost_ns = 1});
  RegisterUnary<RoundOp>(registry, "Round", FloatTypes{} + TypeList<int32_t, int64_t>{}, {.cost_ns = 1});
  RegisterUnary<RoundOp>(registry, "Rint", FloatTypes{}, {.cost_ns = 1});
}

}  // namespace weir
