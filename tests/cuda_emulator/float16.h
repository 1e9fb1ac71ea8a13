// Half precision and bfloat16 as the GPU computes with them.
#ifndef WEIR_TESTS_CUDA_EMULATOR_FLOAT16_H_
#define WEIR_TESTS_CUDA_EMULATOR_FLOAT16_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace cuda_emulator {

enum class Rounding : uint8_t { kNearestEven, kZero, kDown, kUp, kNearestAway };

// `value` in a format of fewer bits; NaN has all bits but the sign set, as NVIDIA's instructions give it.
template <int kExponentBits, int kMantissaBits>
uint32_t RoundToFormat(double value, Rounding rounding) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr uint32_t kInfinity = ((1u << kExponentBits) - 1) << kMantissaBits;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63;
  const uint32_t sign = negative ? 1u << (kExponentBits + kMantissaBits) : 0;
  if (std::isnan(value)) return (1u << (kExponentBits + kMantissaBits)) - 1;
  if (std::isinf(value)) return sign | kInfinity;
  const int biased = static_cast<int>((bits >> 52) & 0x7FF);
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  if (biased != 0) mantissa |= uint64_t{1} << 52;
  if (mantissa == 0) return sign;
  const int exponent = biased == 0 ? -1022 : biased - 1023;
  constexpr int kSmallest = 1 - kBias;
  int shift = 52 - kMantissaBits;
  if (exponent < kSmallest) shift += kSmallest - exponent;
  if (shift > 60) shift = 60;  // all of it is below the last bit
  uint64_t quotient = mantissa >> shift;
  const uint64_t rest = mantissa & ((uint64_t{1} << shift) - 1);
  const uint64_t middle = uint64_t{1} << (shift - 1);
  bool up = false;
  switch (rounding) {
    case Rounding::kNearestEven:
      up = rest > middle || (rest == middle && (quotient & 1));
      break;
    case Rounding::kNearestAway:
      up = rest >= middle;
      break;
    case Rounding::kZero:
      break;
    case Rounding::kDown:
      up = negative && rest != 0;
      break;
    case Rounding::kUp:
      up = !negative && rest != 0;
      break;
  }
  quotient += up;
  uint64_t result = quotient;
  if (exponent >= kSmallest) result += static_cast<uint64_t>(exponent + kBias - 1) << kMantissaBits;
  if (result >= kInfinity) {
    const bool to_infinity = rounding == Rounding::kNearestEven || rounding == Rounding::kNearestAway ||
                             (rounding == Rounding::kUp && !negative) || (rounding == Rounding::kDown && negative);
    return sign | (to_infinity ? kInfinity : kInfinity - 1);
  }
  return sign | static_cast<uint32_t>(result);
}

struct Half {
  uint16_t bits;

  float ToFloat() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t exponent = (bits >> 10) & 31;
    const uint32_t mantissa = bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
    if (exponent == 0) {
      const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  }
};

struct BFloat {
  uint16_t bits;

  float ToFloat() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

inline Half HalfFromDouble(double value, Rounding rounding = Rounding::kNearestEven) {
  return {static_cast<uint16_t>(RoundToFormat<5, 10>(value, rounding))};
}

inline BFloat BFloatFromDouble(double value, Rounding rounding = Rounding::kNearestEven) {
  return {static_cast<uint16_t>(RoundToFormat<8, 7>(value, rounding))};
}

template <class T>
T NarrowFromDouble(double value);
template <>
inline Half NarrowFromDouble<Half>(double value) {
  return HalfFromDouble(value);
}
template <>
inline BFloat NarrowFromDouble<BFloat>(double value) {
  return BFloatFromDouble(value);
}

// Two numbers in a register of 32 bits, the first in the lower half.
template <class T>
struct Pair {
  T x, y;
};
using Half2 = Pair<Half>;
using BFloat2 = Pair<BFloat>;

// a * b + c rounded once: the product is exact in double; where the sum is not, its last bit is made odd, so that the
// second rounding cannot err.
inline double FusedForNarrow(double a, double b, double c) {
  const double product = a * b;
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  if (error == 0) return sum;
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (bits & 1) return sum;
  const bool away = (error > 0) == (sum > 0);
  bits += away ? 1 : -1;
  return std::bit_cast<double>(bits);
}

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_FLOAT16_H_
