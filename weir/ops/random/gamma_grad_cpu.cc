// RandomGammaGrad: how a draw from a gamma distribution moves with alpha, by implicit differentiation of the
// distribution function P(alpha, x): -(dP/dalpha) / (dP/dx).
#include <cmath>

#include "weir/device/cpu/elementwise.h"
#include "weir/device/cpu/special_functions.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

constexpr int kMaxTerms = 20000;
constexpr double kPrecision = 1e-16;

// The power series of P, term by term over the density.
double BySeries(double alpha, double x) {
  const double log_x = std::log(x);
  double term = x / alpha, digamma = Digamma(alpha + 1), sum = 0;
  for (int k = 0; k < kMaxTerms; ++k) {
    const double add = term * (digamma - log_x);
    sum += add;
    if (k > 4 && std::abs(add) < kPrecision * std::abs(sum)) break;
    digamma += 1 / (alpha + k + 1);
    term *= x / (alpha + k + 1);
  }
  return sum;
}

// A number and its derivative by alpha.
struct Dual {
  double v, d;
  Dual operator+(const Dual& o) const { return {v + o.v, d + o.d}; }
  Dual operator*(const Dual& o) const { return {v * o.v, d * o.v + v * o.d}; }
  Dual operator/(const Dual& o) const { return {v / o.v, (d * o.v - v * o.d) / (o.v * o.v)}; }
};

// The continued fraction of 1 - P, for x beyond alpha (Lentz's method).
double ByFraction(double alpha, double x) {
  Dual b{x + 1 - alpha, -1}, c{1e300, 0}, d = Dual{1, 0} / b, h = d;
  for (int i = 1; i < kMaxTerms; ++i) {
    const Dual a{-i * (i - alpha), static_cast<double>(i)};
    b = b + Dual{2, 0};
    d = Dual{1, 0} / (a * d + b);
    c = b + a / c;
    const Dual factor = d * c;
    h = h * factor;
    if (std::abs(factor.v - 1) < kPrecision && std::abs(factor.d) < kPrecision) break;
  }
  return x * (h.v * (std::log(x) - Digamma(alpha)) + h.d);
}

struct GammaGradOp {
  template <typename T>
  static T Do(T alpha, T x) {
    const double a = static_cast<double>(alpha), at = static_cast<double>(x);
    if (!(a > 0) || !(at >= 0)) return std::numeric_limits<T>::quiet_NaN();
    if (at == 0) return T(0);
    return static_cast<T>(at <= a + 1 ? BySeries(a, at) : ByFraction(a, at));
  }
};

}  // namespace

void RegisterGammaGradKernels(KernelRegistry& registry) {
  RegisterBinary<GammaGradOp>(registry, "RandomGammaGrad", TypeList<float, double>{});
}

}  // namespace weir
