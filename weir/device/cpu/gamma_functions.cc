#include <cmath>
#include <limits>
#include <numbers>

#include "weir/device/cpu/special_functions.h"

namespace weir {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = 1e-17;
// Bernoulli numbers B2, B4, ...
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                 5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};

// A value and its derivative: the same recurrences give the incomplete gamma function and its derivative in a.
struct Dual {
  double value = 0;
  double slope = 0;
  Dual(double v = 0, double s = 0) : value(v), slope(s) {}
};
Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
Dual operator/(Dual a, Dual b) {
  double quotient = a.value / b.value;
  return {quotient, (a.slope - quotient * b.slope) / b.value};
}
double ValueOf(double x) { return x; }
double ValueOf(Dual x) { return x.value; }
double Size(double x) { return std::abs(x); }
double Size(Dual x) { return std::max(std::abs(x.value), std::abs(x.slope)); }

// log(gamma(a + 1)) - (a log a - a + log(2 pi a) / 2)
double StirlingRest(double a) {
  double rest = 0, power = a;
  for (int k = 0; k < 8; ++k, power *= a * a) rest += kBernoulli[k] / ((2 * k + 1) * (2 * k + 2) * power);
  return rest;
}

// x^a exp(-x) / gamma(a + 1), without cancellation where a and x are large and close.
double Prefactor(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - LogGamma(a + 1));
  double mu = (x - a) / a;
  double exponent = std::abs(mu) < 0.5 ? a * (std::log1p(mu) - mu) : a * std::log(x / a) - (x - a);
  return std::exp(exponent - StirlingRest(a)) / std::sqrt(2 * std::numbers::pi * a);
}
void SetPrefactor(double a, double x, double& out) { out = Prefactor(a, x); }
void SetPrefactor(Dual a, double x, Dual& out) {
  double value = Prefactor(a.value, x);
  out = Dual(value, value * (std::log(x) - Digamma(a.value + 1)));
}

int IterationLimit(double a) { return 2000 + static_cast<int>(std::min(1e6, 20 * std::sqrt(a))); }

// Converges fast for x < a + 1.
template <typename T>
T LowerSeries(T a, double x) {
  T prefactor;
  SetPrefactor(a, x, prefactor);
  T term = 1, sum = 1;
  for (int n = 1, limit = IterationLimit(ValueOf(a)); n < limit; ++n) {
    term = term * (T(x) / (a + T(n)));
    sum = sum + term;
    if (Size(term) < kEpsilon * Size(sum)) break;
  }
  return prefactor * sum;
}

// Lentz's evaluation of the continued fraction of the upper function, for x > a + 1.
template <typename T>
T UpperFraction(T a, double x) {
  T prefactor;
  SetPrefactor(a, x, prefactor);
  T b = T(x + 1) - a, c = T(1e300), d = T(1) / b, h = d;
  for (int n = 1, limit = IterationLimit(ValueOf(a)); n < limit; ++n) {
    T numerator = T(-n) * (T(n) - a);
    b = b + T(2);
    d = T(1) / (numerator * d + b);
    c = b + numerator / c;
    T delta = c * d;
    h = h * delta;
    if (Size(delta - T(1)) < 1e-16) break;
  }
  return prefactor * a * h;
}

}  // namespace

double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

double Digamma(double x) {
  if (std::isnan(x) || x == -kInf) return kNaN;
  double result = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return kNaN;
    // Reflection; the tangent of the fraction alone keeps precision far from zero.
    result = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::floor(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  result += std::log(x) - 0.5 / x;
  double inverse = 1 / (x * x), power = inverse;
  for (int k = 0; k < 8; ++k, power *= inverse) result -= kBernoulli[k] / (2 * (k + 1)) * power;
  return result;
}

double Igamma(double a, double x) {
  if (x == 0) return 0;
  if (!(x >= 0) || !(a > 0)) return kNaN;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? LowerSeries(a, x) : 1 - UpperFraction(a, x);
}

double Igammac(double a, double x) {
  if (!(x >= 0) || !(a > 0)) return kNaN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - LowerSeries(a, x) : UpperFraction(a, x);
}

double IgammaGradA(double a, double x) {
  if (!(x >= 0) || !(a > 0)) return kNaN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? LowerSeries(Dual(a, 1), x).slope : -UpperFraction(Dual(a, 1), x).slope;
}

namespace {

// Euler and Maclaurin's sum: terms up to that of `last` one by one, the rest as an integral with corrections.
double ZetaSum(double s, double q, double last) {
  double sum = 0, at = q;
  for (; at < last; at += 1) {
    double term = std::pow(at, -s);
    sum += term;
    if (at > 0 && std::abs(term) < kEpsilon * std::abs(sum)) return sum;
    if (std::isinf(sum)) return sum;
  }
  double power = std::pow(at, -s);
  sum += power * at / (s - 1) + power / 2;
  double factor = s * power / at, factorial = 2;
  for (int j = 0; j < 12; ++j) {
    double term = kBernoulli[j] * factor / factorial;
    sum += term;
    if (std::abs(term) < kEpsilon * std::abs(sum)) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (at * at);
    factorial *= (2 * j + 3) * (2 * j + 4);
  }
  return sum;
}

double Zeta(double s, double q, bool is_short) {
  if (std::isnan(s) || std::isnan(q)) return kNaN;
  if (s == 1) return kInf;
  if (s < 1) return kNaN;
  if (q == kInf) return 0;
  if (q <= 0) {
    if (q == std::floor(q)) return s == std::floor(s) && std::fmod(s, 2) == 0 ? kInf : kNaN;
    if (s != std::floor(s)) return kNaN;
  }
  constexpr double kShortTerms = 9;
  return ZetaSum(s, q, is_short && q < -kShortTerms ? q + kShortTerms : 12);
}

double PolygammaOf(double n, double x, bool is_short) {
  if (n < 0 || n != std::floor(n)) return kNaN;
  if (n == 0) return Digamma(x);
  double factorial = std::exp(LogGamma(n + 1));
  if (n < 20) factorial = std::round(factorial);
  double value = factorial * Zeta(n + 1, x, is_short);
  return std::fmod(n, 2) == 0 ? -value : value;
}

}  // namespace

double HurwitzZeta(double s, double q) { return Zeta(s, q, false); }
double Polygamma(double n, double x) { return PolygammaOf(n, x, false); }
double ShortHurwitzZeta(double s, double q) { return Zeta(s, q, true); }
double ShortPolygamma(double n, double x) { return PolygammaOf(n, x, true); }

double Betainc(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return kNaN;
  if (x == 0 || x == 1) return x;
  // The continued fraction converges fast left of the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - Betainc(b, a, 1 - x);
  double front = std::exp(a * std::log(x) + b * std::log1p(-x) + LogGamma(a + b) - LogGamma(a) - LogGamma(b)) / a;
  constexpr double kTiny = 1e-300;
  auto guard = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / guard(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1, limit = IterationLimit(a + b); m < limit; ++m) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    h *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-16) break;
  }
  return front * h;
}

namespace {

constexpr int kMaxSampleTerms = 20000;
constexpr double kSamplePrecision = 1e-16;

// The power series of P, term by term over the density.
double SampleGradBySeries(double alpha, double x) {
  const double log_x = std::log(x);
  double term = x / alpha, digamma = Digamma(alpha + 1), sum = 0;
  for (int k = 0; k < kMaxSampleTerms; ++k) {
    const double add = term * (digamma - log_x);
    sum += add;
    if (k > 4 && std::abs(add) < kSamplePrecision * std::abs(sum)) break;
    digamma += 1 / (alpha + k + 1);
    term *= x / (alpha + k + 1);
  }
  return sum;
}

// The continued fraction of 1 - P, for x beyond alpha (Lentz's method).
double SampleGradByFraction(double alpha, double x) {
  Dual b(x + 1 - alpha, -1), c(1e300, 0), d = Dual(1) / b, h = d;
  for (int i = 1; i < kMaxSampleTerms; ++i) {
    const Dual a(-i * (i - alpha), i);
    b = b + Dual(2);
    d = Dual(1) / (a * d + b);
    c = b + a / c;
    const Dual factor = d * c;
    h = h * factor;
    if (std::abs(factor.value - 1) < kSamplePrecision && std::abs(factor.slope) < kSamplePrecision) break;
  }
  return x * (h.value * (std::log(x) - Digamma(alpha)) + h.slope);
}

}  // namespace

double GammaSampleGrad(double alpha, double x) {
  if (!(alpha > 0) || !(x >= 0)) return kNaN;
  if (x == 0) return 0;
  return x <= alpha + 1 ? SampleGradBySeries(alpha, x) : SampleGradByFraction(alpha, x);
}

}  // namespace weir
