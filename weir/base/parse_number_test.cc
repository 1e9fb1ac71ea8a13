#include "weir/base/parse_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace weir {
namespace {

template <typename T>
std::optional<T> Parsed(std::string_view text) {
  T value{};
  return ParseNumber(text, &value) ? std::optional<T>(value) : std::nullopt;
}

constexpr std::string_view kNoNumbers[] = {"",   " ",   "++1", "+-1", "-+1", "--1", "+ 1", "- 1", "1 2", "1_0", "1,0",
                                           "0b", "0xg", "1f",  "1d",  "abc", "+",   "-",   ".",   "1e+", "infi"};

template <typename T>
class ParseNumberTest : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(ParseNumberTest, Numbers);

TYPED_TEST(ParseNumberTest, TakesTheWholeText) {
  for (std::string_view text : {"17", "+17", " 17 ", "\t\v17\r\n\f"}) EXPECT_EQ(Parsed<TypeParam>(text), TypeParam(17));
  for (std::string_view text : kNoNumbers) EXPECT_EQ(Parsed<TypeParam>(text), std::nullopt) << text;
  EXPECT_EQ(Parsed<TypeParam>(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParseNumber, IntegersMustFit) {
  EXPECT_EQ(Parsed<int32_t>("-2147483648"), INT32_MIN);
  EXPECT_EQ(Parsed<int32_t>("2147483648"), std::nullopt);
  EXPECT_EQ(Parsed<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(Parsed<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(Parsed<uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(Parsed<uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(Parsed<int32_t>("0x10"), std::nullopt);
  EXPECT_EQ(Parsed<int32_t>("1e3"), std::nullopt);
}

TEST(ParseNumber, FloatsOfEveryForm) {
  EXPECT_EQ(Parsed<float>("+.5"), 0.5f);
  EXPECT_EQ(Parsed<float>("1."), 1.0f);
  EXPECT_EQ(Parsed<float>("-1e3"), -1000.0f);
  EXPECT_EQ(Parsed<float>("0x1P3"), 8.0f);
  EXPECT_EQ(Parsed<double>("-0x10"), -16.0);
  EXPECT_EQ(Parsed<double>("+0x1.8"), 1.5);
  EXPECT_EQ(Parsed<double>("0.1"), 0.1);
  EXPECT_EQ(Parsed<float>("0.1"), 0.1f);
}

TEST(ParseNumber, FloatsThatAreNoNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (std::string_view text : {"inf", "INF", "+Infinity", "1e39", "1e400"})
    EXPECT_EQ(Parsed<float>(text), kInf) << text;
  EXPECT_EQ(Parsed<float>("-1e39"), -kInf);
  EXPECT_EQ(Parsed<double>("1e39"), 1e39);
  EXPECT_EQ(Parsed<double>("1e-400"), 0.0);
  for (std::string_view text : {"nan", "NaN", "-nan", "nan(abc)"})
    EXPECT_TRUE(std::isnan(Parsed<float>(text).value())) << text;
}

}  // namespace
}  // namespace weir
