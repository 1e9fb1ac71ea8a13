// Sums of probabilities that are kept as logarithms, for CTC.
#ifndef WEIR_OPS_NN_LOG_SUM_H_
#define WEIR_OPS_NN_LOG_SUM_H_

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir {

// The logarithm of a probability of zero.
template <typename T>
inline constexpr T kLogZero = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b)). Computed in single precision for doubles too, as TensorFlow does.
template <typename T>
T LogSum(T a, T b) {
  if (a == kLogZero<T>) return b;
  if (b == kLogZero<T>) return a;
  const float distance = static_cast<float>(-std::abs(a - b));
  return std::max(a, b) + std::log1p(std::exp(distance));
}

}  // namespace weir

#endif  // WEIR_OPS_NN_LOG_SUM_H_
