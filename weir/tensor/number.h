// Number types that C++20 lacks: 16-bit and 8-bit floats, quantised and sub-byte integers. They store and convert;
// arithmetic is done in float (or in the underlying integer) and rounded once, to nearest even, like TensorFlow's.
#ifndef WEIR_TENSOR_NUMBER_H_
#define WEIR_TENSOR_NUMBER_H_

#include <bit>
#include <cstdint>

#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

// IEEE 754 binary16. Written without calls and with few branches, so that loops over them vectorise.
inline uint16_t FloatToHalfBits(float value) {
  constexpr uint32_t kInfinity = 255u << 23;
  constexpr uint32_t kOverflow = (127u + 16u) << 23;              // 65536, the first power of two past the range
  constexpr uint32_t kSmallestNormal = 113u << 23;                // 2^-14
  constexpr uint32_t kAligner = (112u + (23u - 10u) + 1u) << 23;  // adding it leaves a subnormal's bits in the low end
  uint32_t word = std::bit_cast<uint32_t>(value);
  uint32_t sign = (word >> 16) & 0x8000u;
  word &= 0x7fffffffu;
  uint32_t out;
  if (word >= kOverflow) {
    out = word > kInfinity ? 0x7e00u | ((word >> 13) & 0x3ffu) : 0x7c00u;
  } else if (word < kSmallestNormal) {
    out = std::bit_cast<uint32_t>(std::bit_cast<float>(word) + std::bit_cast<float>(kAligner)) - kAligner;
  } else {
    out = (word - (112u << 23) + 0xfffu + ((word >> 13) & 1u)) >> 13;
  }
  return static_cast<uint16_t>(out | sign);
}
inline float HalfBitsToFloat(uint16_t bits) {
  constexpr uint32_t kExponent = 0x7c00u << 13;
  uint32_t word = (bits & 0x7fffu) << 13;
  uint32_t exponent = word & kExponent;
  word += 112u << 23;
  if (exponent == kExponent) {
    word += 112u << 23;
  } else if (exponent == 0) {
    word = std::bit_cast<uint32_t>(std::bit_cast<float>(word + (1u << 23)) - std::bit_cast<float>(113u << 23));
  }
  return std::bit_cast<float>(word | (bits & 0x8000u) << 16);
}

struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(FloatToHalfBits(value)) {}
  static Half FromBits(uint16_t bits) {
    Half out;
    out.bits = bits;
    return out;
  }
  explicit operator float() const { return HalfBitsToFloat(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((word >> 16) | 0x0040u);  // keep a NaN a NaN
    } else {
      bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  static BFloat16 FromBits(uint16_t bits) {
    BFloat16 out;
    out.bits = bits;
    return out;
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

inline bool operator==(Half a, Half b) { return static_cast<float>(a) == static_cast<float>(b); }
inline bool operator==(BFloat16 a, BFloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }

// What tells the 8-bit and 4-bit floats apart.
enum class TinyFloatFormat : uint8_t { kE5M2, kE4M3FN, kE4M3FNUZ, kE4M3B11FNUZ, kE5M2FNUZ, kE2M1FN };
uint8_t FloatToTinyBits(TinyFloatFormat format, float value);
float TinyBitsToFloat(TinyFloatFormat format, uint8_t bits);

template <TinyFloatFormat kFormat>
struct TinyFloat {
  uint8_t bits = 0;
  TinyFloat() = default;
  explicit TinyFloat(float value) : bits(FloatToTinyBits(kFormat, value)) {}
  static TinyFloat FromBits(uint8_t bits) {
    TinyFloat out;
    out.bits = bits;
    return out;
  }
  explicit operator float() const { return TinyBitsToFloat(kFormat, bits); }
  bool operator==(const TinyFloat& other) const { return static_cast<float>(*this) == static_cast<float>(other); }
};
using Float8E5M2 = TinyFloat<TinyFloatFormat::kE5M2>;
using Float8E4M3FN = TinyFloat<TinyFloatFormat::kE4M3FN>;
using Float8E4M3FNUZ = TinyFloat<TinyFloatFormat::kE4M3FNUZ>;
using Float8E4M3B11FNUZ = TinyFloat<TinyFloatFormat::kE4M3B11FNUZ>;
using Float8E5M2FNUZ = TinyFloat<TinyFloatFormat::kE5M2FNUZ>;
using Float4E2M1FN = TinyFloat<TinyFloatFormat::kE2M1FN>;

// Quantised integers are distinct types over the plain ones.
template <typename T>
struct Quantized {
  T value = 0;
  bool operator==(const Quantized&) const = default;
};
using QInt8 = Quantized<int8_t>;
using QUInt8 = Quantized<uint8_t>;
using QInt32 = Quantized<int32_t>;
using QInt16 = Quantized<int16_t>;
using QUInt16 = Quantized<uint16_t>;

// 2- and 4-bit integers, one to a byte in memory, sign-extended.
template <int kBits, bool kSigned>
struct NarrowInt {
  int8_t value = 0;
  NarrowInt() = default;
  explicit NarrowInt(int v) {
    int low = v & ((1 << kBits) - 1);
    value = static_cast<int8_t>(kSigned && (low >> (kBits - 1)) ? low - (1 << kBits) : low);
  }
  explicit operator int() const { return value; }
  bool operator==(const NarrowInt&) const = default;
};
using Int4 = NarrowInt<4, true>;
using UInt4 = NarrowInt<4, false>;
using Int2 = NarrowInt<2, true>;
using UInt2 = NarrowInt<2, false>;

}  // namespace weir

#endif  // WEIR_TENSOR_NUMBER_H_
