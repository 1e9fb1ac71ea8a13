#include "examples/digits/digits.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "weir/testing/tensor_matchers.h"

namespace examples {
namespace {

using namespace weir;

TEST(DrawDigits, AreTheSameEveryTimeAndHaveAllLabels) {
  auto a = DrawDigits(200, 3), b = DrawDigits(300, 3), c = DrawDigits(200, 4);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(a->inputs.shape(), Shape({200, 28, 28, 1}));
  ExpectTensorEqual(a->inputs, b->inputs.Slice(0, 200));
  ExpectTensorEqual(a->labels, b->labels.Slice(0, 200));
  EXPECT_NE(std::memcmp(a->inputs.raw_data(), c->inputs.raw_data(), a->inputs.num_bytes()), 0);
  auto labels = a->labels.span<int64_t>();
  EXPECT_EQ(std::set<int64_t>(labels.begin(), labels.end()), (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  for (float pixel : a->inputs.span<float>()) {
    ASSERT_GE(pixel, 0);
    ASSERT_LE(pixel, 1);
  }
  EXPECT_FALSE(DrawDigits(-1, 1).ok());
  EXPECT_EQ(DrawDigits(0, 1)->inputs.num_elements(), 0);
}

}  // namespace
}  // namespace examples
