// What functions that are written for the host (device/cpu/*_functions.cc) use of the standard library, for device
// code. Their #includes of standard headers find this text.
#pragma once

inline double lgamma_r(double x, int* sign) {
  *sign = 1;
  return lgamma(x);
}

namespace std {

using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::floor;
using ::fmod;
using ::log;
using ::log1p;
using ::pow;
using ::round;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
inline double abs(double x) { return fabs(x); }
inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return x == x && x - x != x - x; }
inline bool isfinite(double x) { return x - x == x - x; }
template <typename T>
T max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
T min(T a, T b) {
  return b < a ? b : a;
}

template <typename T>
struct numeric_limits;
template <>
struct numeric_limits<double> {
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000ull); }
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000ull); }
};

namespace numbers {
constexpr double pi = 3.141592653589793238462643383279502884;
constexpr double egamma = 0.577215664901532860606512090082402431;
constexpr double inv_sqrtpi = 0.564189583547756286948079451560772586;
constexpr double sqrt2 = 1.414213562373095048801688724209698079;
}  // namespace numbers

template <typename T>
class complex {
 public:
  complex(T real = 0, T imag = 0) : real_(real), imag_(imag) {}
  T real() const { return real_; }
  T imag() const { return imag_; }
  friend complex operator+(complex a, complex b) { return {a.real_ + b.real_, a.imag_ + b.imag_}; }
  complex operator-() const { return {-real_, -imag_}; }
  friend complex operator-(complex a, complex b) { return {a.real_ - b.real_, a.imag_ - b.imag_}; }
  friend complex operator*(complex a, complex b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
  friend complex operator/(complex a, complex b) {
    if (fabs(b.real_) >= fabs(b.imag_)) {
      const T ratio = b.imag_ / b.real_, size = b.real_ + b.imag_ * ratio;
      return {(a.real_ + a.imag_ * ratio) / size, (a.imag_ - a.real_ * ratio) / size};
    }
    const T ratio = b.real_ / b.imag_, size = b.real_ * ratio + b.imag_;
    return {(a.real_ * ratio + a.imag_) / size, (a.imag_ * ratio - a.real_) / size};
  }
  complex& operator+=(complex b) { return *this = *this + b; }
  complex& operator*=(complex b) { return *this = *this * b; }

 private:
  T real_, imag_;
};
template <typename T>
T abs(complex<T> x) {
  return hypot(x.real(), x.imag());
}

}  // namespace std

// An elementwise operation over a function of the host, which is computed in double.
#define SPECIAL(Name, function)      \
  struct Name {                      \
    template <typename T>            \
    static T Do(T x) {               \
      return (T)function((double)x); \
    }                                \
  };
