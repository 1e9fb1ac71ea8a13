#include "weir/tensor/number.h"

#include <array>
#include <cstddef>
#include <limits>

namespace weir {
namespace {

struct Format {
  int mantissa_bits;
  int bias;
  uint8_t sign_bit;
  uint8_t max_finite;  // the bits of the largest finite number
  uint8_t overflow;    // what larger numbers and infinities become (the sign is added unless `one_nan`)
  uint8_t nan;         // the same for NaN
  bool has_infinity;
  bool has_nan;
  bool one_nan;  // FNUZ: the only NaN stands where -0 would be
};

constexpr std::array<Format, 6> kFormats = {{
    {2, 15, 0x80, 0x7b, 0x7c, 0x7e, true, true, false},   // E5M2
    {3, 7, 0x80, 0x7e, 0x7f, 0x7f, false, true, false},   // E4M3FN
    {3, 8, 0x80, 0x7f, 0x80, 0x80, false, true, true},    // E4M3FNUZ
    {3, 11, 0x80, 0x7f, 0x80, 0x80, false, true, true},   // E4M3B11FNUZ
    {2, 16, 0x80, 0x7f, 0x80, 0x80, false, true, true},   // E5M2FNUZ
    {1, 1, 0x08, 0x07, 0x07, 0x00, false, false, false},  // E2M1FN
}};

constexpr float PowerOfTwo(int exponent) { return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23); }

constexpr float Decode(const Format& format, uint8_t bits) {
  bits &= static_cast<uint8_t>(format.sign_bit * 2 - 1);
  bool negative = (bits & format.sign_bit) != 0;
  uint8_t magnitude = bits & (format.sign_bit - 1);
  float sign = negative ? -1.0f : 1.0f;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (format.one_nan && bits == format.nan) return -kNaN;
  if (magnitude > format.max_finite) {
    if (format.has_infinity && magnitude == format.overflow) return sign * std::numeric_limits<float>::infinity();
    return negative ? -kNaN : kNaN;
  }
  int exponent = magnitude >> format.mantissa_bits;
  int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  if (exponent == 0) {
    exponent = 1;
  } else {
    mantissa += 1 << format.mantissa_bits;
  }
  return sign * static_cast<float>(mantissa) * PowerOfTwo(exponent - format.bias - format.mantissa_bits);
}

constexpr auto MakeTable() {
  std::array<std::array<float, 256>, kFormats.size()> table = {};
  for (size_t f = 0; f < kFormats.size(); ++f) {
    for (int bits = 0; bits < 256; ++bits) table[f][bits] = Decode(kFormats[f], static_cast<uint8_t>(bits));
  }
  return table;
}
constexpr auto kTable = MakeTable();

}  // namespace

uint8_t FloatToTinyBits(TinyFloatFormat which, float value) {
  const Format& format = kFormats[static_cast<size_t>(which)];
  uint32_t word = std::bit_cast<uint32_t>(value);
  uint8_t sign = (word >> 31) != 0 ? format.sign_bit : 0;
  word &= 0x7fffffffu;
  if (word > 0x7f800000u) {
    if (!format.has_nan) return sign ^ format.sign_bit;  // no NaN to give: a zero, as ml_dtypes makes it
    return format.one_nan ? format.nan : sign | format.nan;
  }
  int exponent = static_cast<int>(word >> 23) - 127;
  int lowest = 1 - format.bias;
  uint32_t bits = 0;
  if (word >= 0x7f800000u) {
    bits = 0xff;
  } else if (exponent >= lowest - format.mantissa_bits - 1) {
    uint32_t significand = (word & 0x7fffffu) | 0x800000u;
    int shift = 23 - format.mantissa_bits + (exponent < lowest ? lowest - exponent : 0);
    uint32_t half = 1u << (shift - 1);
    bits = (significand + half - 1 + ((significand >> shift) & 1u)) >> shift;
    // The leading one adds to the exponent field, and so does a carry.
    if (exponent >= lowest) bits += static_cast<uint32_t>(exponent - lowest) << format.mantissa_bits;
  }
  if (bits > format.max_finite) return format.one_nan ? format.nan : sign | format.overflow;
  if (bits == 0 && format.one_nan) return 0;
  return sign | static_cast<uint8_t>(bits);
}

float TinyBitsToFloat(TinyFloatFormat format, uint8_t bits) { return kTable[static_cast<size_t>(format)][bits]; }

}  // namespace weir
