// Element types of tensors in device code, and how they are computed with: half and bfloat16 are widened to float,
// computed with, and rounded to nearest even, as on the host.
#pragma once

typedef signed char int8;
typedef unsigned char uint8;
typedef short int16;
typedef unsigned short uint16;
typedef int int32;
typedef unsigned int uint32;
typedef long long int64;
typedef unsigned long long uint64;

struct half {
  uint16 bits;
  half() = default;
  half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
};

struct bfloat16 {
  uint16 bits;
  bfloat16() = default;
  bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    uint32 x = __float_as_uint(value);
    // NaN stays one; everything else is rounded to nearest even.
    bits = (x & 0x7fffffff) > 0x7f800000 ? (uint16)0x7fff : (uint16)((x + 0x7fff + ((x >> 16) & 1)) >> 16);
#endif
  }
  operator float() const { return __uint_as_float((uint32)bits << 16); }
};

// Integers of four bits, each in a byte.
struct tiny_int {
  int8 value;
  tiny_int() = default;
  template <typename T>
  explicit tiny_int(T x) : value((int8)((int8)((uint8)x << 4) >> 4)) {}
  operator int8() const { return value; }
};
struct tiny_uint {
  int8 value;
  tiny_uint() = default;
  template <typename T>
  explicit tiny_uint(T x) : value((int8)((uint8)x & 15)) {}
  operator int8() const { return value; }
};

template <typename R>
struct alignas(2 * sizeof(R)) complex {
  R real, imag;
  complex() = default;
  complex(R re, R im = 0) : real(re), imag(im) {}
  template <typename Other>
  explicit complex(complex<Other> x) : real((R)x.real), imag((R)x.imag) {}
  complex operator+(complex y) const { return complex(real + y.real, imag + y.imag); }
  complex operator-(complex y) const { return complex(real - y.real, imag - y.imag); }
  complex operator-() const { return complex(-real, -imag); }
  complex operator*(complex y) const { return complex(real * y.real - imag * y.imag, real * y.imag + imag * y.real); }
  complex operator/(complex y) const {
    complex quotient;
    // Scaled by the larger part, so that squares do not overflow.
    if (fabs(y.real) >= fabs(y.imag)) {
      R ratio = y.imag / y.real, denominator = y.real + y.imag * ratio;
      quotient = complex((real + imag * ratio) / denominator, (imag - real * ratio) / denominator);
    } else {
      R ratio = y.real / y.imag, denominator = y.real * ratio + y.imag;
      quotient = complex((real * ratio + imag) / denominator, (imag * ratio - real) / denominator);
    }
    if (quotient.real == quotient.real || quotient.imag == quotient.imag) return quotient;
    return OverStrange(y, quotient);
  }
  // As C has it: what is infinite in one part is infinite, whatever the other part is. By zero it is infinite, by
  // infinity zero.
  complex OverStrange(complex y, complex otherwise) const {
    const R infinity = (R)__int_as_float(0x7f800000);
    const bool is_finite = real - real == 0 && imag - imag == 0,
               y_is_finite = y.real - y.real == 0 && y.imag - y.imag == 0;
    const bool is_infinite = fabs(real) == infinity || fabs(imag) == infinity;
    const bool y_is_infinite = fabs(y.real) == infinity || fabs(y.imag) == infinity;
    if (y.real == 0 && y.imag == 0 && (real == real || imag == imag)) {
      const R signed_infinity = copysign(infinity, y.real);
      return complex(signed_infinity * real, signed_infinity * imag);
    }
    auto direction = [&](R part) { return copysign((R)(fabs(part) == infinity ? 1 : 0), part); };
    complex a = *this, b = y;
    if (is_infinite && y_is_finite)
      a = complex(direction(real), direction(imag));
    else if (y_is_infinite && is_finite)
      b = complex(direction(y.real), direction(y.imag));
    else
      return otherwise;
    const R factor = is_infinite ? infinity : (R)0;
    return complex(factor * (a.real * b.real + a.imag * b.imag), factor * (a.imag * b.real - a.real * b.imag));
  }
  complex& operator+=(complex y) { return *this = *this + y; }
  complex& operator*=(complex y) { return *this = *this * y; }
  bool operator==(complex y) const { return real == y.real && imag == y.imag; }
  bool operator!=(complex y) const { return !(*this == y); }
};
typedef complex<float> complex64;
typedef complex<double> complex128;

// The type that T is computed in.
template <typename T>
struct Wide {
  typedef T type;
};
template <>
struct Wide<half> {
  typedef float type;
};
template <>
struct Wide<bfloat16> {
  typedef float type;
};
template <>
struct Wide<tiny_int> {
  typedef int8 type;
};
template <>
struct Wide<tiny_uint> {
  typedef int8 type;
};
template <typename T>
using wide = typename Wide<T>::type;

template <typename T>
struct IsComplex {
  static constexpr bool value = false;
};
template <typename R>
struct IsComplex<complex<R>> {
  static constexpr bool value = true;
};
template <typename T>
struct IsFloating {
  static constexpr bool value = false;
};
template <>
struct IsFloating<float> {
  static constexpr bool value = true;
};
template <>
struct IsFloating<double> {
  static constexpr bool value = true;
};
template <>
struct IsFloating<half> {
  static constexpr bool value = true;
};
template <>
struct IsFloating<bfloat16> {
  static constexpr bool value = true;
};
template <typename T>
struct IsSigned {
  static constexpr bool value = (T)-1 < (T)0;
};
template <typename A, typename B>
struct IsSame {
  static constexpr bool value = false;
};
template <typename A>
struct IsSame<A, A> {
  static constexpr bool value = true;
};
// The unsigned integer as wide as T, in which sums and products wrap around.
template <typename T>
struct Unsigned {
  typedef T type;
};
template <>
struct Unsigned<int8> {
  typedef uint8 type;
};
template <>
struct Unsigned<int16> {
  typedef uint16 type;
};
template <>
struct Unsigned<int32> {
  typedef uint32 type;
};
template <>
struct Unsigned<int64> {
  typedef uint64 type;
};

// The lowest and highest value of a type; infinities where it has them.
template <typename T>
T Lowest() {
  if constexpr (IsFloating<T>::value) {
    return (T)(-(double)__int_as_float(0x7f800000));
  } else if constexpr (IsSame<T, bool>::value) {
    return false;
  } else if constexpr (IsSigned<T>::value) {
    return (T)((typename Unsigned<T>::type)1 << (8 * sizeof(T) - 1));
  } else {
    return 0;
  }
}
template <typename T>
T Highest() {
  if constexpr (IsFloating<T>::value) {
    return (T)((double)__int_as_float(0x7f800000));
  } else if constexpr (IsSame<T, bool>::value) {
    return true;
  } else if constexpr (IsSigned<T>::value) {
    return (T) ~((typename Unsigned<T>::type)1 << (8 * sizeof(T) - 1));
  } else {
    return (T) ~(T)0;
  }
}

// The greatest finite value of float and double.
template <typename T>
constexpr T Greatest() {
  return sizeof(T) == 8 ? (T)1.7976931348623157e308 : (T)3.4028234663852886e38f;
}

// for (int64 i = GridFirst(); i < n; i += GridStride()): the elements of this thread.
inline int64 GridFirst() { return (int64)blockIdx.x * blockDim.x + threadIdx.x; }
inline int64 GridStride() { return (int64)gridDim.x * blockDim.x; }
