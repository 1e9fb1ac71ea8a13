#include "weir/collective/adasum.h"

#include <cfloat>
#include <cmath>

#include "weir/tensor/number.h"

namespace weir::collective {

void CombineAdasum(DType dtype, const void* a, const void* b, void* out, int64_t count) {
  DispatchDType(dtype, FloatTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = std::conditional_t<sizeof(T) == 2, float, T>;
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    T* z = static_cast<T*>(out);
    double product = 0, x_norm = 0, y_norm = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double p = static_cast<W>(x[i]), q = static_cast<W>(y[i]);
      product += p * q;
      x_norm += p * p;
      y_norm += q * q;
    }
    // A zero vector has nothing in common with the other one.
    const double least = std::sqrt(DBL_MIN);
    const double of_x = x_norm < least ? 1 : 1 - product / (2 * x_norm);
    const double of_y = y_norm < least ? 1 : 1 - product / (2 * y_norm);
    for (int64_t i = 0; i < count; ++i) {
      z[i] = T(static_cast<W>(of_x * static_cast<double>(static_cast<W>(x[i])) +
                              of_y * static_cast<double>(static_cast<W>(y[i]))));
    }
  });
}

}  // namespace weir::collective
