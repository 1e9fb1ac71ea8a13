#include "weir/base/varint.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Varint, StopsAtTheEnd) {
  for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 35, UINT64_MAX}) {
    std::string bytes;
    AppendVarint(value, &bytes);
    EXPECT_EQ(bytes.size(), VarintSize(value));
    std::string_view view = bytes;
    uint64_t read;
    ASSERT_TRUE(TakeVarint(&view, &read));
    EXPECT_EQ(read, value);
    EXPECT_TRUE(view.empty());
    view = std::string_view(bytes).substr(0, bytes.size() - 1);
    EXPECT_FALSE(TakeVarint(&view, &read));
  }
  std::string_view too_long = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  uint64_t read;
  EXPECT_FALSE(TakeVarint(&too_long, &read));
  std::string_view wide = "\xff\xff\xff\xff\x7f";
  uint32_t narrow;
  EXPECT_FALSE(TakeVarint(&wide, &narrow));
}

}  // namespace
}  // namespace weir
