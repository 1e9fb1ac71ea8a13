// Making and taking apart complex numbers.
#include <cmath>

#include "weir/device/cpu/elementwise.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

struct ComplexOp {
  template <typename T>
  static std::complex<T> Do(T real, T imag) {
    return {real, imag};
  }
};
struct RealOp {
  template <typename T>
  static T Do(std::complex<T> z) {
    return z.real();
  }
};
struct ImagOp {
  template <typename T>
  static T Do(std::complex<T> z) {
    return z.imag();
  }
};
struct AngleOp {
  template <typename T>
  static T Do(std::complex<T> z) {
    return std::arg(z);
  }
};
struct ComplexAbsOp {
  template <typename T>
  static T Do(std::complex<T> z) {
    return std::abs(z);
  }
};
struct ConjOp {
  template <typename T>
  static std::complex<T> Do(std::complex<T> z) {
    return std::conj(z);
  }
};

}  // namespace

void RegisterComplexKernels(KernelRegistry& registry) {
  RegisterBinary<ComplexOp>(registry, "Complex", TypeList<float, double>{});
  RegisterUnary<RealOp>(registry, "Real", ComplexTypes{}, {.cost_ns = 0.5});
  RegisterUnary<ImagOp>(registry, "Imag", ComplexTypes{}, {.cost_ns = 0.5});
  RegisterUnary<AngleOp>(registry, "Angle", ComplexTypes{}, {.cost_ns = 15});
  RegisterUnary<ComplexAbsOp>(registry, "ComplexAbs", ComplexTypes{}, {.cost_ns = 4});
  RegisterUnary<ConjOp>(registry, "Conj", ComplexTypes{});
}

}  // namespace weir
