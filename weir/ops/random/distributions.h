// From Philox blocks to values, bit for bit as TensorFlow has them.
#ifndef WEIR_OPS_RANDOM_DISTRIBUTIONS_H_
#define WEIR_OPS_RANDOM_DISTRIBUTIONS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "weir/base/philox.h"
#include "weir/tensor/number.h"

namespace weir::random {

// In [0, 1).
inline float UniformFloat(uint32_t x) { return std::bit_cast<float>(0x3f800000u | (x & 0x7fffffu)) - 1.0f; }
inline double UniformDouble(uint32_t x0, uint32_t x1) {
  uint64_t mantissa = static_cast<uint64_t>(x0 & 0xfffffu) << 32 | x1;
  return std::bit_cast<double>(uint64_t{1023} << 52 | mantissa) - 1.0;
}
inline float UniformHalf(uint32_t x) { return HalfBitsToFloat(static_cast<uint16_t>(15u << 10 | (x & 0x3ffu))) - 1.0f; }
inline float UniformBFloat16(uint32_t x) { return std::bit_cast<float>((127u << 7 | (x & 0x7fu)) << 16) - 1.0f; }

// Two independent normal values.
struct FloatPair {
  float first, second;
};
inline FloatPair NormalFloats(uint32_t x0, uint32_t x1) {
  float u = std::max(UniformFloat(x0), 1.0e-7f);
  float angle = static_cast<float>(2.0 * std::numbers::pi * UniformFloat(x1));
  float radius = std::sqrt(-2.0f * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}
struct DoublePair {
  double first, second;
};
inline DoublePair NormalDoubles(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3) {
  double u = std::max(UniformDouble(x0, x1), 1.0e-7);
  double angle = 2.0 * std::numbers::pi * UniformDouble(x2, x3);
  double radius = std::sqrt(-2.0 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

// Uniform doubles one at a time; of the two that a block gives the second comes first.
class UniformDoubles {
 public:
  double Next(Philox& philox) {
    if (left_ == 0) {
      Philox::Block x = philox.Next();
      values_[0] = UniformDouble(x[0], x[1]);
      values_[1] = UniformDouble(x[2], x[3]);
      left_ = 2;
    }
    return values_[--left_];
  }

 private:
  double values_[2] = {};
  int left_ = 0;
};

}  // namespace weir::random

#endif  // WEIR_OPS_RANDOM_DISTRIBUTIONS_H_
