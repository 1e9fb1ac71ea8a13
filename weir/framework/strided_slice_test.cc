#include "weir/framework/strided_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

constexpr int64_t kAny = PartialShape::kUnknown;
const std::optional<int64_t> kNone;

// "[2,?] first 1,0 strides 1,2", or the error.
std::string Solve(std::vector<int64_t> dims, std::vector<SliceEntry> entries, StridedSliceMasks masks = {}) {
  auto slice = SolveStridedSlice(dims, entries, masks);
  if (!slice.ok()) return std::string(slice.status().message());
  PartialShape shape = PartialShape::UnknownOfRank(0);
  for (int source : slice->result) {
    shape.add_dim(source == SliceRanges::kNewAxis ? 1 : slice->ranges[source].count);
  }
  std::string first, strides;
  for (const SliceRange& range : slice->ranges) {
    first += Cat(first.empty() ? "" : ",", range.count == kAny ? "?" : Cat(range.first));
    strides += Cat(strides.empty() ? "" : ",", range.stride);
  }
  return Cat(shape.ToString(), " first ", first, " strides ", strides);
}

TEST(StridedSlice, TakesRangesOfBothDirections) {
  EXPECT_EQ(Solve({10, 6}, {{1, 9, 3}}), "[3,6] first 1,0 strides 3,1");
  EXPECT_EQ(Solve({10}, {{10, 0, -2}}), "[5] first 9 strides -2");
  EXPECT_EQ(Solve({10}, {{-3, 100, 1}}), "[3] first 7 strides 1");
  EXPECT_EQ(Solve({10}, {{5, 2, 1}}), "[0] first 5 strides 1");
  EXPECT_EQ(Solve({3}, {{INT64_MIN, INT64_MAX, INT64_MAX}}), Cat("[1] first 0 strides ", INT64_MAX));
  EXPECT_EQ(Solve({3}, {{2, INT64_MIN, INT64_MIN}}), Cat("[1] first 2 strides ", INT64_MIN));
  EXPECT_EQ(Solve({4}, {{1, 1, -1}}, {.begin = 1, .end = 1}), "[4] first 3 strides -1");
}

TEST(StridedSlice, WritesTheEllipsisOut) {
  EXPECT_EQ(Solve({2, 3, 4}, {{0, 0, 1}, {1, 2, 1}}, {.ellipsis = 1}), "[2,3,1] first 0,0,1 strides 1,1,1");
  EXPECT_EQ(Solve({2, 3}, {{0, 0, 1}, {0, 0, 1}, {1, 0, 1}}, {.ellipsis = 1, .new_axis = 2, .shrink_axis = 4}),
            "[2,1] first 0,1 strides 1,1");
  EXPECT_EQ(Solve({3}, {{0, 1, 1}, {0, 0, 1}}, {.ellipsis = 2}), "[1] first 0 strides 1");
  EXPECT_EQ(Solve({2, 3}, {}), "[2,3] first 0,0 strides 1,1");
}

TEST(StridedSlice, FollowsWhatIsKnown) {
  EXPECT_EQ(Solve({kAny, 4}, {{0, 2, 1}, {1, 3, 1}}), "[?,2] first ?,1 strides 1,1");
  EXPECT_EQ(Solve({4, 4}, {{0, kNone, 1}, {1, 3, 1}}), "[?,2] first ?,1 strides 1,1");
  EXPECT_EQ(Solve({4, 4}, {{0, 2, kNone}, {1, 3, 1}}), "[?,2] first ?,1 strides 1,1");
  EXPECT_EQ(Solve({4}, {{kNone, kNone, 2}}, {.begin = 1, .end = 1}), "[2] first 0 strides 2");
  EXPECT_EQ(Solve({4, 5}, {{kNone, 0, 1}}, {.shrink_axis = 1}), "[5] first ?,0 strides 1,1");
  EXPECT_EQ(Solve({kAny, 5}, {{7, 0, -1}}, {.shrink_axis = 1}), "[5] first ?,0 strides 1,1");
}

TEST(StridedSlice, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Solve({3}, {{0, 1, 0}}), "strides[0] must be non-zero");
  EXPECT_EQ(Solve({2, kAny}, {{0, 0, 1}, {0, 1, 0}}, {.ellipsis = 1}), "strides[1] must be non-zero");
  EXPECT_EQ(Solve({3}, {{3, 0, 1}}, {.shrink_axis = 1}), "slice index 3 of dimension 0 out of bounds.");
  EXPECT_EQ(Solve({3}, {{-4, 0, 1}}, {.shrink_axis = 1}), "slice index -4 of dimension 0 out of bounds.");
  EXPECT_EQ(Solve({3}, {{0, 0, -1}}, {.shrink_axis = 1}), "only stride 1 allowed on non-range indexing.");
  EXPECT_EQ(Solve({3}, {{0, 1, 1}, {0, 1, 1}}), "Index out of range using input dim 1; input has only 1 dims");
  EXPECT_EQ(Solve({}, {{0, 1, 1}}), "Attempting to slice scalar input.");
  // Even where there is no entry for the second one.
  EXPECT_EQ(Solve({3}, {{0, 1, 1}}, {.ellipsis = 6}), "Multiple ellipses in slice spec not allowed");
}

TEST(StridedSlice, TakesAtMost31Entries) {
  const std::vector<SliceEntry> most(31, {0, 1, 1});
  EXPECT_THAT(Solve({3, 5}, most, {.new_axis = ~int64_t{1}}), ::testing::HasSubstr("1,1,1,5] first 0,0 strides 1,1"));
  const std::vector<SliceEntry> more(32, {0, 1, 1});
  EXPECT_EQ(
      Solve({3, 5}, more, {.new_axis = ~int64_t{1}}),
      "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [32], [32], and [32] instead.");
}

}  // namespace
}  // namespace weir
