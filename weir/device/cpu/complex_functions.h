// Elementary functions that the standard library lacks for complex numbers, and the same names for real ones.
#ifndef WEIR_DEVICE_CPU_COMPLEX_FUNCTIONS_H_
#define WEIR_DEVICE_CPU_COMPLEX_FUNCTIONS_H_

#include <cmath>
#include <complex>

namespace weir {

inline float Log1p(float x) { return std::log1p(x); }
inline double Log1p(double x) { return std::log1p(x); }
template <typename R>
std::complex<R> Log1p(std::complex<R> z) {
  // |1 + z|^2 - 1 = 2a + a^2 + b^2 keeps the digits of a small z.
  R a = z.real(), b = z.imag();
  if (std::abs(a) > R(0.5) || std::abs(b) > R(0.5)) return std::log(R(1) + z);
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}

inline float Expm1(float x) { return std::expm1(x); }
inline double Expm1(double x) { return std::expm1(x); }
template <typename R>
std::complex<R> Expm1(std::complex<R> z) {
  R a = z.real(), b = z.imag();
  R half_sine = std::sin(b / 2);
  return {std::expm1(a) * std::cos(b) - 2 * half_sine * half_sine, std::exp(a) * std::sin(b)};
}

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_COMPLEX_FUNCTIONS_H_
