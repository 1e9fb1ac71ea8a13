// The arithmetic of update rules (ops/train/number.h) in device code. 16-bit floats are rounded after every operation.
#pragma once
#include "weir/device/cuda/device_code/elements.cuh"

namespace weir::train {

template <typename T>
struct Rounded {
  float value;
  Rounded() = default;
  explicit Rounded(float x) : value((float)T(x)) {}
  friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.value + b.value); }
  friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.value - b.value); }
  friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.value * b.value); }
  friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.value / b.value); }
  friend Rounded operator-(Rounded a) { return Rounded(-a.value); }
  friend bool operator>(Rounded a, Rounded b) { return a.value > b.value; }
  friend bool operator<(Rounded a, Rounded b) { return a.value < b.value; }
};

template <typename T>
struct Number {
  typedef T type;
  static T Load(T x) { return x; }
  static T Store(T x) { return x; }
};
template <typename T>
struct SmallNumber {
  typedef Rounded<T> type;
  static type Load(T x) { return type((float)x); }
  static T Store(type x) { return T(x.value); }
};
template <>
struct Number<half> : SmallNumber<half> {};
template <>
struct Number<bfloat16> : SmallNumber<bfloat16> {};

inline float Sqrt(float x) { return sqrtf(x); }
inline double Sqrt(double x) { return sqrt(x); }
template <typename T>
Rounded<T> Sqrt(Rounded<T> x) {
  return Rounded<T>(sqrtf(x.value));
}
template <typename R>
complex<R> Sqrt(complex<R> x) {
  if (x.real == 0 && x.imag == 0) return complex<R>(0, x.imag);
  R root = Sqrt((fabs(x.real) + hypot(x.real, x.imag)) / 2);
  if (x.real >= 0) return complex<R>(root, x.imag / (2 * root));
  return complex<R>(fabs(x.imag) / (2 * root), copysign(root, x.imag));
}
template <typename N>
N Rsqrt(N x) {
  return N(1) / Sqrt(x);
}
template <typename T>
Rounded<T> Rsqrt(Rounded<T> x) {
  return Rounded<T>(1.0f / sqrtf(x.value));
}
template <typename N>
N Square(N x) {
  return x * x;
}
inline float Exp(float x) { return expf(x); }
inline double Exp(double x) { return exp(x); }
template <typename T>
Rounded<T> Exp(Rounded<T> x) {
  return Rounded<T>(expf(x.value));
}
inline float Pow(float x, float y) { return powf(x, y); }
inline double Pow(double x, double y) { return pow(x, y); }
template <typename T>
Rounded<T> Pow(Rounded<T> x, Rounded<T> y) {
  return Rounded<T>(powf(x.value, y.value));
}
template <typename N>
N Abs(N x) {
  return x < N(0) ? -x : x;
}
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
