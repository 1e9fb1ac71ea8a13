#include "weir/io/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(MaskCrc(Crc32c("123456789")), 0xc78ab0e5u);
  EXPECT_EQ(UnmaskCrc(MaskCrc(0x12345678u)), 0x12345678u);
}

TEST(Crc32c, BothWaysAgreeAndExtend) {
  std::string data;
  for (int i = 0; i < 300; ++i) data.push_back(static_cast<char>(i * 37 + (i >> 3)));
  for (size_t length = 0; length < data.size(); ++length) {
    std::string_view part(data.data(), length);
    EXPECT_EQ(Crc32c(part), crc32c_internal::ExtendPortable(0, part));
    EXPECT_EQ(ExtendCrc32c(Crc32c(part), data.substr(length)), Crc32c(data));
  }
}

}  // namespace
}  // namespace weir
