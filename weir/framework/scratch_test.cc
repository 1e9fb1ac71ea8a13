#include "weir/framework/scratch.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(CheckScratch, RefusesWhatNoMachineHas) {
  EXPECT_EQ(CheckScratch(0, 8), OkStatus());
  EXPECT_EQ(CheckScratch(1000, 8), OkStatus());
  EXPECT_EQ(CheckScratch(8 << 20, 8), OkStatus());
  EXPECT_EQ(CheckScratch(int64_t{1} << 50, 8).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CheckScratch(INT64_MAX, 8).code(), absl::StatusCode::kResourceExhausted);
}

TEST(WithinMemory, TurnsMissingMemoryIntoAStatus) {
  EXPECT_EQ(WithinMemory([] { return OkStatus(); }), OkStatus());
  const Status full = WithinMemory([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  const StatusOr<int> too_long = WithinMemory([]() -> StatusOr<int> { throw std::length_error("vector"); });
  EXPECT_EQ(too_long.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weir
