#include "weir/device/cpu/special_functions.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace weir {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;

// y with erfc(y) = q for 0 < q <= 1: a rational guess, then Halley's steps.
double InverseErfc(double q) {
  double t = std::sqrt(-2 * std::log(q / 2));
  double y = (t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t))) / std::numbers::sqrt2;
  for (int i = 0; i < 4; ++i) {
    double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    if (slope == 0) break;
    double u = (std::erfc(y) - q) / slope;
    double step = u / (1 - y * u);
    if (!std::isfinite(step)) break;
    y += step;
    if (std::abs(step) < 1e-17 * std::abs(y)) break;
  }
  return y;
}

// Sine and cosine of pi x^2 / 2 without losing the phase of a large x.
std::complex<double> FresnelPhase(double x) {
  double whole = std::floor(x);
  double part = x - whole;
  // x^2 mod 4, from (whole mod 4) and the parts.
  double square = std::fmod(std::fmod(whole, 4) * std::fmod(whole, 4), 4) +
                  std::fmod(2 * std::fmod(whole, 2) * part, 4) +
                  std::fmod(4 * std::fmod(std::floor(whole / 2) * part, 1), 4) + part * part;
  double angle = kPi / 2 * std::fmod(square, 4);
  return {std::cos(angle), std::sin(angle)};
}

// C + iS.
std::complex<double> Fresnel(double x) {
  double size = std::abs(x);
  std::complex<double> result;
  if (size < 1.8) {
    // Powers of i pi x^2 / 2 integrated term by term.
    std::complex<double> z(0, kPi / 2 * size * size), term = 1;
    for (int n = 0; n < 60; ++n) {
      result += term / static_cast<double>(2 * n + 1);
      term *= z / static_cast<double>(n + 1);
      if (std::abs(term) < 1e-18) break;
    }
    result *= size;
  } else if (size > 1e8) {
    result = {0.5, 0.5};
  } else {
    // The continued fraction of the complementary error function of sqrt(pi) (1 - i) x / 2.
    std::complex<double> b(1, -kPi * size * size), c = 1e300, d = 1.0 / b, h = d;
    for (int n = 1; n < 500; ++n) {
      double a = -static_cast<double>(2 * n - 1) * (2 * n);
      b += 4;
      d = 1.0 / (a * d + b);
      c = b + a / c;
      std::complex<double> delta = c * d;
      h *= delta;
      if (std::abs(delta.real() - 1) + std::abs(delta.imag()) < 1e-16) break;
    }
    h *= std::complex<double>(size, -size);
    result = std::complex<double>(0.5, 0.5) * (1.0 - FresnelPhase(size) * h);
  }
  return x < 0 ? -result : result;
}

// The dilogarithm for 0 <= u <= 1/2, in powers of -log(1 - u).
double DilogarithmBase(double u) {
  constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                   -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
  double a = -std::log1p(-u);
  double sum = a - a * a / 4, power = a, factorial = 1;
  for (int k = 0; k < 10; ++k) {
    power *= a * a;
    factorial *= (2 * k + 2) * (2 * k + 3);
    sum += kBernoulli[k] * power / factorial;
  }
  return sum;
}

double Dilogarithm(double u) {
  constexpr double kZeta2 = kPi * kPi / 6;
  if (u == 1) return kZeta2;
  if (u > 0.5) return kZeta2 - std::log(u) * std::log1p(-u) - DilogarithmBase(1 - u);
  if (u >= 0) return DilogarithmBase(u);
  double log_rest = std::log1p(-u);
  if (u >= -1) return -DilogarithmBase(u / (u - 1)) - log_rest * log_rest / 2;
  double log_size = std::log(-u);
  return -kZeta2 - log_size * log_size / 2 - Dilogarithm(1 / u);
}

}  // namespace

double Erfinv(double x) {
  if (std::isnan(x) || x < -1 || x > 1) return kNaN;
  double size = std::abs(x), y;
  if (size == 1) {
    y = kInf;
  } else if (size > 0.5) {
    y = InverseErfc(1 - size);
  } else {
    y = size * std::sqrt(kPi) / 2;
    for (int i = 0; i < 6; ++i) {
      double u = (std::erf(y) - size) / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
      double step = u / (1 + y * u);
      y -= step;
      if (std::abs(step) <= 1e-17 * y) break;
    }
  }
  return std::copysign(y, x);
}

double Ndtri(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return kNaN;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  if (p == 0.5) return 0;
  return p < 0.5 ? -std::numbers::sqrt2 * InverseErfc(2 * p) : std::numbers::sqrt2 * InverseErfc(2 * (1 - p));
}

// Rybicki's sum: exponentially accurate in the spacing.
double Dawson(double x) {
  double size = std::abs(x);
  if (std::isnan(x)) return x;
  if (size < 0.2) {
    double term = x, sum = x;
    for (int n = 1; n < 12; ++n) {
      term *= -2 * x * x / (2 * n + 1);
      sum += term;
    }
    return sum;
  }
  if (size > 1e7) return 0.5 / x;
  constexpr double kSpacing = 0.2;
  double center = 2 * std::round(size / (2 * kSpacing));
  double sum = 0;
  for (int k = 1; k < 33; k += 2) {
    for (double n : {center + k, center - k}) {
      double distance = size - n * kSpacing;
      sum += std::exp(-distance * distance) / n;
    }
  }
  return std::copysign(sum * std::numbers::inv_sqrtpi, x);
}

double ExponentialIntegral(double x) {
  if (std::isnan(x)) return x;
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  if (x < 0) return kNaN;
  if (x < 40) {
    double sum = std::numbers::egamma + std::log(x), term = 1;
    for (int k = 1; k < 300; ++k) {
      term *= x / k;
      sum += term / k;
      if (std::abs(term / k) < 1e-18 * std::abs(sum)) break;
    }
    return sum;
  }
  double sum = 1, term = 1;
  for (int k = 1; k < 60; ++k) {
    double next = term * k / x;
    if (next > term) break;
    term = next;
    sum += term;
  }
  return std::exp(x) / x * sum;
}

double FresnelSine(double x) { return std::isnan(x) ? x : Fresnel(x).imag(); }
double FresnelCosine(double x) { return std::isnan(x) ? x : Fresnel(x).real(); }

double Spence(double x) {
  if (std::isnan(x) || x < 0) return kNaN;
  return Dilogarithm(1 - x);
}

}  // namespace weir
