// Quotients and remainders. An integer divisor of zero is refused before anything is computed.
#include <cmath>

#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct DivOp {
  template <typename T>
  static T Do(T a, T b) {
    return WrapDiv(a, b);
  }
};

struct TruncateDivOp {
  template <typename T>
  static T Do(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::trunc(a / b);
    } else {
      return WrapDiv(a, b);
    }
  }
};

struct FloorDivOp {
  template <typename T>
  static T Do(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(a / b);
    } else if constexpr (std::is_signed_v<T>) {
      T quotient = WrapDiv(a, b);
      return (a < 0) != (b < 0) && WrapMul(quotient, b) != a ? static_cast<T>(quotient - 1) : quotient;
    } else {
      return static_cast<T>(a / b);
    }
  }
};

struct TruncateModOp {
  template <typename T>
  static T Do(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else if constexpr (std::is_signed_v<T>) {
      return b == -1 ? T(0) : static_cast<T>(a % b);
    } else {
      return static_cast<T>(a % b);
    }
  }
};

// The remainder takes the divisor's sign.
struct FloorModOp {
  template <typename T>
  static T Do(T a, T b) {
    T remainder = TruncateModOp::Do(a, b);
    if constexpr (std::is_signed_v<T>) {
      if (remainder != 0 && (remainder < 0) != (b < 0)) remainder = static_cast<T>(remainder + b);
    }
    return remainder;
  }
};

Status CheckDivisors(const Tensor&, const Tensor& divisors) {
  bool zero = false;
  DispatchDType(divisors.dtype(), IntegerTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T x : divisors.span<T>()) zero |= x == 0;
  });
  if (zero) return InvalidArgument("Integer division by zero");
  return OkStatus();
}

// What TensorFlow says of these two.
Status CheckTruncatedDivisors(const Tensor& x, const Tensor& divisors) {
  if (CheckDivisors(x, divisors).ok()) return OkStatus();
  return Internal("Unexpected error in binary operator (only integer div and mod should have errors)");
}

}  // namespace

void RegisterDivisionKernels(KernelRegistry& registry) {
  RegisterBinary<DivOp>(registry, "RealDiv", FloatTypes{} + ComplexTypes{});
  RegisterBinary<DivOp>(registry, "Div", NumberTypes{}, {.cost_ns = 1, .check = CheckDivisors});
  RegisterBinary<TruncateDivOp>(registry, "TruncateDiv", RealTypes{}, {.cost_ns = 1, .check = CheckTruncatedDivisors});
  RegisterBinary<FloorDivOp>(registry, "FloorDiv", RealTypes{}, {.cost_ns = 2, .check = CheckDivisors});
  RegisterBinary<FloorModOp>(registry, "FloorMod", RealTypes{}, {.cost_ns = 5, .check = CheckDivisors});
  using ModTypes = TypeList<int32_t, int64_t, float, double, Half, BFloat16>;
  RegisterBinary<TruncateModOp>(registry, "TruncateMod", ModTypes{}, {.cost_ns = 5, .check = CheckTruncatedDivisors});
  RegisterBinary<TruncateModOp>(registry, "Mod", ModTypes{}, {.cost_ns = 5, .check = CheckDivisors});
}

}  // namespace weir
