// How elements are computed with: which type the work is done in, and integer arithmetic that wraps.
#ifndef WEIR_DEVICE_CPU_ARITHMETIC_H_
#define WEIR_DEVICE_CPU_ARITHMETIC_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "weir/base/export.h"
#include "weir/tensor/number.h"

namespace WEIR_PUBLIC weir {

template <typename T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// 16-bit floats are computed in float and rounded once; all others in their own type.
template <typename T>
using ComputeType = std::conditional_t<kIsSmallFloat<T>, float, T>;

template <typename T>
ComputeType<T> Widen(const T& x) {
  return static_cast<ComputeType<T>>(x);
}

// An unsigned type wide enough that its arithmetic is not promoted to int.
template <typename T>
using WrapType = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(static_cast<WrapType<T>>(a) + static_cast<WrapType<T>>(b));
  } else {
    return a + b;
  }
}

template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<WrapType<T>>(a) - static_cast<WrapType<T>>(b));
  } else {
    return a - b;
  }
}

// (a + bi)(c + di) by the textbook formula: a NaN stays a NaN, as TensorFlow's complex product has it.
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<WrapType<T>>(a) * static_cast<WrapType<T>>(b));
  } else if constexpr (kIsComplex<T>) {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

// Division of integers toward zero. REQUIRES: b != 0.
template <typename T>
T WrapDiv(T a, T b) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    if (b == -1) return WrapSub(T(0), a);
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_ARITHMETIC_H_
