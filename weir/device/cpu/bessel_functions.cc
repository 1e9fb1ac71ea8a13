#include <cmath>
#include <limits>
#include <numbers>

#include "weir/device/cpu/special_functions.h"

namespace weir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSeriesLimit = 30;

// I_order by its power series, for 0 <= x.
double ISeries(int order, double x) {
  double quarter = x * x / 4, term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 500; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
    if (term < 1e-18 * sum) break;
  }
  return sum;
}

// exp(-x) I_order by its asymptotic series, for x > kSeriesLimit.
double IScaledFar(int order, double x) {
  double mu = 4.0 * order * order, term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    double next = -term * (mu - (2 * k - 1) * (2 * k - 1)) / (8 * k * x);
    if (std::abs(next) > std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < 1e-18) break;
  }
  return sum / std::sqrt(2 * std::numbers::pi * x);
}

double IScaled(int order, double x) {
  double size = std::abs(x);
  double value = size > kSeriesLimit ? IScaledFar(order, size) : std::exp(-size) * ISeries(order, size);
  return order == 1 && x < 0 ? -value : value;
}

double I(int order, double x) {
  double size = std::abs(x);
  double value =
      size > kSeriesLimit ? std::exp(size / 2) * IScaledFar(order, size) * std::exp(size / 2) : ISeries(order, size);
  return order == 1 && x < 0 ? -value : value;
}

// K_order by its series around 0, for 0 < x <= 2.
double KNear(int order, double x) {
  double quarter = x * x / 4;
  double log_half = std::log(x / 2);
  double psi = -std::numbers::egamma;  // digamma(k + 1)
  double term = 1, sum = 0;
  for (int k = 0; k < 40; ++k) {
    double weight = order == 0 ? psi : 2 * psi + 1.0 / (k + 1);
    sum += term * weight;
    term *= quarter / (static_cast<double>(k + 1) * (k + 1 + order));
    psi += 1.0 / (k + 1);
    if (term < 1e-19) break;
  }
  return order == 0 ? -log_half * ISeries(0, x) + sum : 1 / x + log_half * ISeries(1, x) - x / 4 * sum;
}

// exp(x) K_order as the integral of exp(-x (cosh t - 1)) cosh(order t): the trapezoidal rule is exponentially
// accurate on it.
double KScaledFar(int order, double x) {
  double spacing = std::min(0.125, 0.5 / std::sqrt(x));
  double sum = 0.5;
  for (int k = 1; k < 200; ++k) {
    double t = k * spacing, sine = std::sinh(t / 2);
    double term = std::exp(-2 * x * sine * sine);
    if (order == 1) term *= std::cosh(t);
    sum += term;
    if (term < 1e-18 * sum) break;
  }
  return sum * spacing;
}

double KScaled(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (std::isinf(x)) return 0;
  return x <= 2 ? std::exp(x) * KNear(order, x) : KScaledFar(order, x);
}

double K(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (std::isinf(x)) return 0;
  return x <= 2 ? KNear(order, x) : std::exp(-x) * KScaledFar(order, x);
}

}  // namespace

double BesselI0(double x) { return I(0, x); }
double BesselI0e(double x) { return IScaled(0, x); }
double BesselI1(double x) { return I(1, x); }
double BesselI1e(double x) { return IScaled(1, x); }
double BesselK0(double x) { return K(0, x); }
double BesselK0e(double x) { return KScaled(0, x); }
double BesselK1(double x) { return K(1, x); }
double BesselK1e(double x) { return KScaled(1, x); }
// At infinity TensorFlow has no value, where the mathematical ones are 0.
double BesselJ0(double x) { return std::isinf(x) ? kNan : j0(x); }
double BesselJ1(double x) { return std::isinf(x) ? kNan : j1(x); }
double BesselY0(double x) { return x <= 0 ? -kInf : std::isinf(x) ? kNan : y0(x); }
double BesselY1(double x) { return x <= 0 ? -kInf : std::isinf(x) ? kNan : y1(x); }

}  // namespace weir
