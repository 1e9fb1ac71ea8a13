#include "weir/testing/tensor_matchers.h"

#include <cmath>
#include <complex>

#include "gtest/gtest.h"

namespace weir {
namespace {

std::complex<double> Widen(float x) { return x; }
std::complex<double> Widen(double x) { return x; }
std::complex<double> Widen(Half x) { return static_cast<float>(x); }
std::complex<double> Widen(BFloat16 x) { return static_cast<float>(x); }
template <typename T>
std::complex<double> Widen(std::complex<T> x) {
  return std::complex<double>(x);
}

bool Close(double a, double b, double relative, double absolute) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= absolute + relative * std::abs(b);
}

bool SameKind(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(Name(actual.dtype()), Name(expected.dtype()));
  if (actual.dtype() != expected.dtype()) return false;
  if (!actual.has_value()) return false;
  EXPECT_EQ(actual.shape().ToString(), expected.shape().ToString());
  return actual.shape() == expected.shape();
}

std::string Both(const Tensor& actual, const Tensor& expected) {
  return Cat("\nactual:   ", actual.ToString(32), "\nexpected: ", expected.ToString(32));
}

using InexactTypes = decltype(FloatTypes{} + ComplexTypes{});

}  // namespace

void ExpectTensorNear(const Tensor& actual, const Tensor& expected, double relative, double absolute) {
  if (!SameKind(actual, expected)) return;
  bool known = DispatchDType(actual.dtype(), InexactTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < actual.num_elements(); ++i) {
      std::complex<double> a = Widen(actual.data<T>()[i]);
      std::complex<double> b = Widen(expected.data<T>()[i]);
      if (!Close(a.real(), b.real(), relative, absolute) || !Close(a.imag(), b.imag(), relative, absolute)) {
        ADD_FAILURE() << "element " << i << ": " << a << " is not near " << b << Both(actual, expected);
        return;
      }
    }
  });
  if (!known) ExpectTensorEqual(actual, expected);
}

void ExpectTensorEqual(const Tensor& actual, const Tensor& expected) {
  if (!SameKind(actual, expected)) return;
  bool inexact = DispatchDType(actual.dtype(), InexactTypes{}, [](auto) {});
  if (inexact) return ExpectTensorNear(actual, expected, 0, 0);
  if (actual.dtype() == DType::kString) {
    for (int64_t i = 0; i < actual.num_elements(); ++i) {
      EXPECT_EQ(actual.data<std::string>()[i], expected.data<std::string>()[i]) << "element " << i;
    }
    return;
  }
  bool known = DispatchDType(actual.dtype(), PlainTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < actual.num_elements(); ++i) {
      if (!(actual.data<T>()[i] == expected.data<T>()[i])) {
        ADD_FAILURE() << "element " << i << " differs" << Both(actual, expected);
        return;
      }
    }
  });
  if (!known) ADD_FAILURE() << "Tensors of type " << Name(actual.dtype()) << " cannot be compared";
}

Tensor NumbersOf(DType dtype, const Shape& shape, std::initializer_list<double> values) {
  Tensor out = Tensor::Allocate(dtype, shape).value();
  bool known = DispatchDType(dtype, decltype(NumberTypes{} + TypeList<bool>{}){}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.data<T>();
    for (double value : values) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        *to++ = T(static_cast<float>(value));
      } else {
        *to++ = static_cast<T>(value);
      }
    }
  });
  if (!known) ADD_FAILURE() << "No numbers of type " << Name(dtype);
  return out;
}

}  // namespace weir
