// Sums, products, extremes and powers.
#include <cmath>
#include <vector>

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

struct CubeOp {
  template <typename T>
  static T Do(T x) {
    return x * x * x;
  }
};
struct SquareOp {
  template <typename T>
  static T Do(T x) {
    return x * x;
  }
};
using PowTypes = decltype(FloatTypes{} + ComplexTypes{} + SignedTypes{});

// Squares and cubes of floats, which is what graphs mostly ask for, need no logarithm.
void FloatPowRun(const void* a, const void* b, void* out, int64_t n, int a_step, int b_step) {
  using namespace elementwise_internal;  // NOLINT: the loops
  if (n == 0) return;                    // there may be no exponent either
  const float exponent = *static_cast<const float*>(b);
  if (b_step == 0 && a_step == 1 && exponent == 2) return UnaryVectorRun<SquareOp, float>(a, out, n);
  if (b_step == 0 && a_step == 1 && exponent == 3) return UnaryVectorRun<CubeOp, float>(a, out, n);
  BinaryVectorRun<PowOp, float>(a, b, out, n, a_step, b_step);
}

std::span<const BinaryEntry> PowTable() {
  static const std::vector<BinaryEntry>* table = [] {
    std::span<const BinaryEntry> plain = BinaryTable<PowOp>(PowTypes{});
    auto* entries = new std::vector<BinaryEntry>(plain.begin(), plain.end());
    for (BinaryEntry& entry : *entries) {
      if (entry.dtype == DType::kFloat) entry.loop = FloatPowRun;
    }
    return entries;
  }();
  return *table;
}

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
  RegisterBinaryTable(registry, "Pow", PowTable(), {.cost_ns = 4, .check = CheckExponents});
}

}  // namespace weir
