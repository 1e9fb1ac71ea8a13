// Sums, products, extremes and powers.
#include <cmath>

#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct AddOp {
  template <typename T>
  static T Do(T a, T b) {
    return WrapAdd(a, b);
  }
};

struct SubOp {
  template <typename T>
  static T Do(T a, T b) {
    return WrapSub(a, b);
  }
};

struct MulOp {
  template <typename T>
  static T Do(T a, T b) {
    return WrapMul(a, b);
  }
};

// A NaN on either side wins.
struct MaximumOp {
  template <typename T>
  static T Do(T a, T b) {
    return a > b || a != a ? a : b;
  }
};

struct MinimumOp {
  template <typename T>
  static T Do(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

struct SquaredDifferenceOp {
  template <typename T>
  static T Do(T a, T b) {
    T d = WrapSub(a, b);
    if constexpr (kIsComplex<T>) {
      return WrapMul(d, std::conj(d));
    } else {
      return WrapMul(d, d);
    }
  }
};

struct PowOp {
  template <typename T>
  static T Do(T base, T exponent) {
    if constexpr (std::is_integral_v<T>) {
      T result = 1;
      for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) result = WrapMul(result, base);
        base = WrapMul(base, base);
      }
      return result;
    } else {
      return std::pow(base, exponent);
    }
  }
};

Status CheckExponents(const Tensor&, const Tensor& exponents) {
  bool negative = false;
  DispatchDType(exponents.dtype(), SignedTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T x : exponents.span<T>()) negative |= x < 0;
  });
  if (negative) return InvalidArgument("Integers to negative integer powers are not allowed");
  return OkStatus();
}

}  // namespace

void RegisterArithmeticKernels(KernelRegistry& registry) {
  RegisterBinary<AddOp>(registry, "AddV2", NumberTypes{});
  RegisterBinary<AddOp>(registry, "Add", NumberTypes{} + TypeList<std::string>{});
  RegisterBinary<SubOp>(registry, "Sub", NumberTypes{});
  RegisterBinary<MulOp>(registry, "Mul", NumberTypes{});
  RegisterBinary<MaximumOp>(registry, "Maximum", RealTypes{});
  RegisterBinary<MinimumOp>(registry, "Minimum", RealTypes{});
  RegisterBinary<SquaredDifferenceOp>(registry, "SquaredDifference",
                                      FloatTypes{} + ComplexTypes{} + TypeList<int32_t, int64_t>{});
  RegisterBinary<PowOp>(registry, "Pow", FloatTypes{} + ComplexTypes{} + SignedTypes{},
                        {.cost_ns = 15, .check = CheckExponents});
}

}  // namespace weir
