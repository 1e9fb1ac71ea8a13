// Operations on the bits of integers.
#include <algorithm>
#include <bit>
#include <limits>

#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct BitAndOp {
  template <typename T>
  static T Do(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOrOp {
  template <typename T>
  static T Do(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXorOp {
  template <typename T>
  static T Do(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct InvertOp {
  template <typename T>
  static T Do(T a) {
    return static_cast<T>(~a);
  }
};

// A shift by less than 0 acts as 0, by the width or more as width - 1.
template <typename T>
int ClampShift(T amount) {
  constexpr int kMost = static_cast<int>(sizeof(T) * 8 - 1);
  if constexpr (std::is_signed_v<T>) {
    if (amount < 0) return 0;
  }
  return amount > static_cast<T>(kMost) ? kMost : static_cast<int>(amount);
}

struct LeftShiftOp {
  template <typename T>
  static T Do(T a, T b) {
    return static_cast<T>(static_cast<WrapType<T>>(a) << ClampShift(b));
  }
};
struct RightShiftOp {
  template <typename T>
  static T Do(T a, T b) {
    return static_cast<T>(a >> ClampShift(b));
  }
};

struct PopulationCountOp {
  template <typename T>
  static uint8_t Do(T a) {
    return static_cast<uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
  }
};

}  // namespace

void RegisterBitwiseKernels(KernelRegistry& registry) {
  RegisterBinary<BitAndOp>(registry, "BitwiseAnd", IntegerTypes{});
  RegisterBinary<BitOrOp>(registry, "BitwiseOr", IntegerTypes{});
  RegisterBinary<BitXorOp>(registry, "BitwiseXor", IntegerTypes{});
  RegisterUnary<InvertOp>(registry, "Invert", IntegerTypes{});
  RegisterBinary<LeftShiftOp>(registry, "LeftShift", IntegerTypes{});
  RegisterBinary<RightShiftOp>(registry, "RightShift", IntegerTypes{});
  RegisterUnary<PopulationCountOp>(registry, "PopulationCount", IntegerTypes{});
}

}  // namespace weir
