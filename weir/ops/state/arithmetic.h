// Arithmetic of variable updates, total over every value: integers wrap, 16-bit floats go through float.
#ifndef WEIR_OPS_STATE_ARITHMETIC_H_
#define WEIR_OPS_STATE_ARITHMETIC_H_

#include <limits>
#include <type_traits>

#include "weir/tensor/dtype.h"

namespace weir::state {

template <typename T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Calls `body` on values of the type that the arithmetic is done in.
template <typename T, typename Body>
T Calculate(T a, T b, Body body) {
  if constexpr (kIsSmallFloat<T>) {
    return T(body(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    // At least 32 bits wide, so that a promotion to int cannot overflow in the product of two 16-bit numbers.
    using U = std::common_type_t<std::make_unsigned_t<T>, uint32_t>;
    return static_cast<T>(body(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return static_cast<T>(body(a, b));
  }
}

struct AddOp {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a || b;
    else
      return Calculate(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct SubOp {
  template <typename T>
  static T Apply(T a, T b) {
    return Calculate(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct MulOp {
  template <typename T>
  static T Apply(T a, T b) {
    return Calculate(a, b, [](auto x, auto y) { return x * y; });
  }
};
// REQUIRES: integers are not divided by 0.
struct DivOp {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return SubOp::Apply(T(0), a);
      }
      return static_cast<T>(a / b);
    } else {
      return Calculate(a, b, [](auto x, auto y) { return x / y; });
    }
  }
};
// A NaN update is not taken, a NaN variable stays.
struct MinOp {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (kIsSmallFloat<T>)
      return static_cast<float>(b) < static_cast<float>(a) ? b : a;
    else
      return b < a ? b : a;
  }
};
struct MaxOp {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (kIsSmallFloat<T>)
      return static_cast<float>(a) < static_cast<float>(b) ? b : a;
    else
      return a < b ? b : a;
  }
};

}  // namespace weir::state

#endif  // WEIR_OPS_STATE_ARITHMETIC_H_
