#include "weir/tensor/number.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Half, ConvertsEveryPatternThereAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = HalfBitsToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(value))));
    } else {
      EXPECT_EQ(FloatToHalfBits(value), bits);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(FloatToHalfBits(1.0f + 1.0f / 2048), 0x3c00);  // a tie, down to even
  EXPECT_EQ(FloatToHalfBits(1.0f + 3.0f / 2048), 0x3c02);  // a tie, up to even
  EXPECT_EQ(FloatToHalfBits(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalfBits(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalfBits(std::ldexp(1.0f, -25)), 0);
  EXPECT_EQ(FloatToHalfBits(std::nextafter(std::ldexp(1.0f, -25), 1.0f)), 1);
  EXPECT_EQ(FloatToHalfBits(-0.0f), 0x8000);
  EXPECT_EQ(FloatToHalfBits(-kInf), 0xfc00);
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(BFloat16(1.00390625f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(BFloat16(3.4e38f).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7f800001u)))));
}

struct TinyCase {
  TinyFloatFormat format;
  float largest, smallest;
  uint8_t past_largest, minus_infinity, nan, minus_zero;
};

class TinyFloats : public testing::TestWithParam<TinyCase> {};

TEST_P(TinyFloats, KeepTheirLimits) {
  const TinyCase& c = GetParam();
  auto bits = [&](float value) { return FloatToTinyBits(c.format, value); };
  EXPECT_EQ(TinyBitsToFloat(c.format, bits(c.largest)), c.largest);
  EXPECT_EQ(TinyBitsToFloat(c.format, bits(c.smallest)), c.smallest);
  EXPECT_EQ(bits(c.smallest), 1);
  EXPECT_EQ(bits(c.smallest / 2), 0);
  EXPECT_EQ(bits(std::nextafter(c.smallest / 2, 1.0f)), 1);
  EXPECT_EQ(bits(c.largest * 1.3f), c.past_largest);
  EXPECT_EQ(bits(-kInf), c.minus_infinity);
  EXPECT_EQ(bits(kNaN), c.nan);
  EXPECT_EQ(bits(-0.0f), c.minus_zero);
}

TEST_P(TinyFloats, ConvertEveryPatternThereAndBack) {
  const TinyCase& c = GetParam();
  int patterns = c.format == TinyFloatFormat::kE2M1FN ? 16 : 256;
  for (int bits = 0; bits < patterns; ++bits) {
    float value = TinyBitsToFloat(c.format, static_cast<uint8_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(TinyBitsToFloat(c.format, FloatToTinyBits(c.format, value))));
    } else {
      EXPECT_EQ(FloatToTinyBits(c.format, value), bits);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TinyFloats,
                         testing::Values(TinyCase{TinyFloatFormat::kE5M2, 57344, 0x1p-16f, 0x7c, 0xfc, 0x7e, 0x80},
                                         TinyCase{TinyFloatFormat::kE4M3FN, 448, 0x1p-9f, 0x7f, 0xff, 0x7f, 0x80},
                                         TinyCase{TinyFloatFormat::kE4M3FNUZ, 240, 0x1p-10f, 0x80, 0x80, 0x80, 0},
                                         TinyCase{TinyFloatFormat::kE4M3B11FNUZ, 30, 0x1p-13f, 0x80, 0x80, 0x80, 0},
                                         TinyCase{TinyFloatFormat::kE5M2FNUZ, 57344, 0x1p-17f, 0x80, 0x80, 0x80, 0},
                                         TinyCase{TinyFloatFormat::kE2M1FN, 6, 0.5f, 0x7, 0xf, 0x8, 0x8}));

TEST(NarrowInt, WrapsAndExtendsTheSign) {
  EXPECT_EQ(static_cast<int>(Int4(7)), 7);
  EXPECT_EQ(static_cast<int>(Int4(8)), -8);
  EXPECT_EQ(static_cast<int>(UInt4(17)), 1);
  EXPECT_EQ(static_cast<int>(Int2(3)), -1);
  EXPECT_EQ(static_cast<int>(UInt2(3)), 3);
}

}  // namespace
}  // namespace weir
