#include "weir/base/free_ports.h"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

TEST(FreePorts, AreGivenOnce) {
  std::set<int> all;
  for (int round = 0; round < 4; ++round) {
    const std::vector<int> ports = FreePorts(25);
    EXPECT_EQ(ports.size(), 25u);
    all.insert(ports.begin(), ports.end());
  }
  EXPECT_EQ(all.size(), 100u);
  EXPECT_GE(*all.begin(), 10'000);
  EXPECT_LT(*all.rbegin(), 30'000);
}

}  // namespace
}  // namespace weir
