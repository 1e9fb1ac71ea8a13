#include "weir/io/coding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weir {
namespace {

std::string Signed(int64_t value) {
  std::string out;
  AppendOrderedSigned(&out, value);
  return out;
}

TEST(Coding, SignedNumbersHaveTheKnownBytes) {
  EXPECT_EQ(Signed(0), "\x80");
  EXPECT_EQ(Signed(-1), "\x7f");
  EXPECT_EQ(Signed(63), "\xbf");
  EXPECT_EQ(Signed(64), "\xc0\x40");
  EXPECT_EQ(Signed(-64), "\x40");
  EXPECT_EQ(Signed(-65), "\x3f\xbf");
  EXPECT_EQ(Signed(8192), std::string("\xe0\x20\x00", 3));
  EXPECT_EQ(Signed(0x424242), "\xf0\x42\x42\x42");
  EXPECT_EQ(Signed(-0x800), std::string("\x38\x00", 2));
}

TEST(Coding, SignedNumbersSortAsTheirBytes) {
  std::vector<int64_t> values = {INT64_MIN, INT64_MIN + 1,    -(int64_t{1} << 55), -1000,    -64, -1, 0, 1, 63, 64,
                                 1 << 20,   int64_t{1} << 55, int64_t{1} << 62,    INT64_MAX};
  for (size_t i = 1; i < values.size(); ++i) EXPECT_LT(Signed(values[i - 1]), Signed(values[i])) << values[i];
  EXPECT_EQ(Signed(INT64_MIN).size(), 10u);
}

TEST(Coding, StringsAndNumbers) {
  std::string out;
  AppendOrderedString(&out, std::string_view("a\0\xff", 3));
  EXPECT_EQ(out, std::string("a\0\xff\xff\0\0\1", 7));
  out.clear();
  AppendOrderedNumber(&out, 0);
  AppendOrderedNumber(&out, 0x1234);
  EXPECT_EQ(out, std::string("\0\2\x12\x34", 4));
}

}  // namespace
}  // namespace weir
