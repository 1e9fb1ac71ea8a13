// The arithmetic of update rules. A rule is written once over a number type N with + - * / and the functions below.
// 16-bit floats are rounded after every operation, as TensorFlow's are.
#ifndef WEIR_OPS_TRAIN_NUMBER_H_
#define WEIR_OPS_TRAIN_NUMBER_H_

#include <cmath>
#include <complex>
#include <type_traits>

#include "weir/device/cpu/arithmetic.h"

namespace weir::train {

template <typename T>
struct Rounded {
  float value = 0;
  Rounded() = default;
  explicit Rounded(float x) : value(static_cast<float>(T(x))) {}
  friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.value + b.value); }
  friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.value - b.value); }
  friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.value * b.value); }
  friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.value / b.value); }
  friend Rounded operator-(Rounded a) { return Rounded(-a.value); }
  friend bool operator>(Rounded a, Rounded b) { return a.value > b.value; }
  friend bool operator<(Rounded a, Rounded b) { return a.value < b.value; }
};

template <typename N>
struct IsRounded : std::false_type {};
template <typename T>
struct IsRounded<Rounded<T>> : std::true_type {};

// The type that a rule computes in for elements of type T.
template <typename T>
using NumberOf = std::conditional_t<kIsSmallFloat<T>, Rounded<T>, T>;

template <typename T>
NumberOf<T> Load(const T& x) {
  if constexpr (kIsSmallFloat<T>) {
    NumberOf<T> out;
    out.value = static_cast<float>(x);
    return out;
  } else {
    return x;
  }
}
template <typename T>
T Store(const NumberOf<T>& x) {
  if constexpr (kIsSmallFloat<T>) {
    return T(x.value);
  } else {
    return x;
  }
}

template <typename N>
N Sqrt(N x) {
  if constexpr (IsRounded<N>::value) {
    return N(std::sqrt(x.value));
  } else {
    return std::sqrt(x);
  }
}
template <typename N>
N Rsqrt(N x) {
  if constexpr (IsRounded<N>::value) {
    return N(1.0f / std::sqrt(x.value));
  } else {
    return N(1) / std::sqrt(x);
  }
}
template <typename N>
N Square(N x) {
  if constexpr (kIsComplex<N>) {
    return WrapMul(x, x);
  } else {
    return x * x;
  }
}

// Below: real numbers only.
template <typename N>
N Exp(N x) {
  if constexpr (IsRounded<N>::value) {
    return N(std::exp(x.value));
  } else {
    return std::exp(x);
  }
}
template <typename N>
N Pow(N x, N y) {
  if constexpr (IsRounded<N>::value) {
    return N(std::pow(x.value, y.value));
  } else {
    return std::pow(x, y);
  }
}
template <typename N>
N Abs(N x) {
  return x < N(0) ? -x : x;
}
// A NaN stays.
template <typename N>
N Sign(N x) {
  return x > N(0) ? N(1) : x < N(0) ? N(-1) : x;
}
template <typename N>
N Max(N a, N b) {
  return a < b ? b : a;
}
template <typename N>
N Min(N a, N b) {
  return b < a ? b : a;
}

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_NUMBER_H_
