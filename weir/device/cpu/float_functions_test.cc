#include "weir/device/cpu/float_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weir {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of 1: what is smaller is as good relative to its size.
double UnitsOff(float y, double truth) {
  const double unit = std::numeric_limits<float>::epsilon() * std::min(1.0, std::abs(truth));
  return std::abs(y - truth) / unit;
}

TEST(FloatFunctions, ErfIsGoodToThreeUnits) {
  std::vector<float> x, y;
  for (int i = -60'000; i <= 60'000; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
  for (float small = 1.5e-38f; small < 1; small *= 1.37f) x.push_back(small);
  y.resize(x.size());
  ErfFloats(x.data(), y.data(), static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0) {
      EXPECT_EQ(y[i], 0);
    } else {
      ASSERT_LE(UnitsOff(y[i], std::erf(static_cast<double>(x[i]))), 3) << x[i];
    }
    ASSERT_LE(std::abs(y[i]), 1.0f) << x[i];
  }
}

TEST(FloatFunctions, ErfAtTheEnds) {
  float x[] = {kInfinity, -kInfinity, std::nanf(""), 0.0f, -0.0f, 5.0f, -5.0f, 1e30f};
  ErfFloats(x, x, 8);  // in place
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[1], -1);
  EXPECT_TRUE(std::isnan(x[2]));
  EXPECT_FALSE(std::signbit(x[3]));
  EXPECT_TRUE(std::signbit(x[4]));
  EXPECT_EQ(x[5], 1);
  EXPECT_EQ(x[6], -1);
  EXPECT_EQ(x[7], 1);
}

TEST(FloatFunctions, RsqrtIsGoodToTwoUnits) {
  std::vector<float> x, y;
  for (float v = 1.2e-38f; v < 3e38f; v *= 1.0113f) x.push_back(v);
  y.resize(x.size());
  // Of every length: what is left over when the vectors are done is as good.
  for (int64_t n : {int64_t{1}, int64_t{15}, int64_t{16}, int64_t{33}, static_cast<int64_t>(x.size())}) {
    std::fill(y.begin(), y.end(), -1.0f);
    RsqrtFloats(x.data(), y.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const double truth = 1 / std::sqrt(static_cast<double>(x[i]));
      ASSERT_LE(std::abs(y[i] - truth) / truth / std::numeric_limits<float>::epsilon(), 2) << x[i];
    }
    if (n < static_cast<int64_t>(x.size())) {
      EXPECT_EQ(y[n], -1);
    }
  }
}

TEST(FloatFunctions, RsqrtAtTheEnds) {
  std::vector<float> x = {0.0f, -0.0f, kInfinity, -1.0f, -kInfinity, std::nanf(""), 1.0f, 4.0f};
  x.resize(19, 0.25f);
  RsqrtFloats(x.data(), x.data(), 19);
  EXPECT_EQ(x[0], kInfinity);
  EXPECT_EQ(x[1], -kInfinity);
  EXPECT_EQ(x[2], 0);
  for (int i : {3, 4, 5}) EXPECT_TRUE(std::isnan(x[i])) << i;
  EXPECT_EQ(x[6], 1);
  EXPECT_EQ(x[7], 0.5);
  EXPECT_EQ(x[18], 2);
}

}  // namespace
}  // namespace weir
