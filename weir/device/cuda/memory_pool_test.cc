#include "weir/device/cuda/memory_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace weir::cuda {
namespace {

using ::testing::HasSubstr;

// Plain memory of the host, of which there are only `left` bytes.
class LimitedMemory : public MemorySource {
 public:
  explicit LimitedMemory(size_t bytes) : left_(bytes) {}
  void* Take(size_t bytes) override {
    if (bytes > left_) return nullptr;
    left_ -= bytes;
    return std::aligned_alloc(MemoryPool::kGranule, bytes);
  }
  void Give(void* region, size_t bytes) override {
    left_ += bytes;
    std::free(region);
  }
  size_t left() const { return left_; }

 private:
  size_t left_;
};

MemoryPoolOptions Small() { return {.name = "test", .first_region = 4096, .largest_region = 65536}; }

TEST(MemoryPool, RepeatedStepsAskTheSourceForNothing) {
  MemoryPool pool(std::make_shared<LimitedMemory>(1 << 20), Small());
  auto step = [&] {
    void* a = pool.Allocate(1000);
    void* b = pool.Allocate(3000);
    pool.Deallocate(a, 1000);
    void* c = pool.Allocate(700);
    pool.Deallocate(b, 3000);
    pool.Deallocate(c, 700);
  };
  step();
  const int64_t taken = pool.regions_taken();
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(pool.regions_taken(), taken);
  EXPECT_EQ(pool.Stats().bytes_in_use, 0);
}

TEST(MemoryPool, NeighboursThatAreFreeBecomeOneBlock) {
  MemoryPool pool(std::make_shared<LimitedMemory>(8192),
                  {.name = "test", .first_region = 8192, .largest_region = 8192});
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pool.Allocate(1024));
  EXPECT_EQ(pool.Allocate(1), nullptr);
  for (int i : {1, 3, 5, 7, 0, 2, 4, 6}) pool.Deallocate(blocks[i], 1024);
  void* whole = pool.Allocate(8192);
  EXPECT_NE(whole, nullptr);
  pool.Deallocate(whole, 8192);
}

TEST(MemoryPool, BlocksAreAlignedAndNeverOverlap) {
  MemoryPool pool(std::make_shared<LimitedMemory>(1 << 22), Small());
  std::mt19937 random(1);
  struct Live {
    char* begin;
    size_t size;
  };
  std::vector<Live> live;
  for (int i = 0; i < 5000; ++i) {
    if (live.size() > 40 || (!live.empty() && random() % 3 == 0)) {
      const size_t at = random() % live.size();
      pool.Deallocate(live[at].begin, live[at].size);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const size_t size = random() % 9000;
    auto* begin = static_cast<char*>(pool.Allocate(size));
    ASSERT_NE(begin, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(begin) % MemoryPool::kGranule, 0u);
    ASSERT_TRUE(pool.Contains(begin));
    for (const Live& other : live) {
      ASSERT_TRUE(begin + size <= other.begin || other.begin + other.size <= begin);
    }
    live.push_back({begin, size});
  }
  for (const Live& each : live) pool.Deallocate(each.begin, each.size);
}

TEST(MemoryPool, KeepsToItsLimitAndSaysWhoHoldsTheMemory) {
  MemoryPoolOptions options = Small();
  options.limit = 16384;
  MemoryPool pool(std::make_shared<LimitedMemory>(1 << 20), options);
  void* a = pool.Allocate(8192);
  void* b = pool.Allocate(4096);
  EXPECT_EQ(pool.Allocate(8192), nullptr);
  EXPECT_THAT(pool.DescribeExhaustion(8192), HasSubstr("Largest holders:\n  1 x 0.0 MiB"));
  EXPECT_EQ(pool.Stats().bytes_limit, 16384);
  pool.Deallocate(a, 8192);
  void* c = pool.Allocate(8192);
  EXPECT_NE(c, nullptr);
  pool.Deallocate(b, 4096);
  pool.Deallocate(c, 8192);
}

TEST(MemoryPool, GivesEmptyRegionsBackWhenTheSourceIsOut) {
  auto source = std::make_shared<LimitedMemory>(12288);
  MemoryPool pool(source, {.name = "test", .first_region = 4096, .largest_region = 4096});
  void* a = pool.Allocate(4096);
  void* b = pool.Allocate(4096);
  pool.Deallocate(a, 4096);
  void* c = pool.Allocate(8192);  // only together with what the first region gave back
  EXPECT_NE(c, nullptr);
  pool.Deallocate(b, 4096);
  pool.Deallocate(c, 8192);
  pool.Trim();
  EXPECT_EQ(source->left(), 12288u);
}

}  // namespace
}  // namespace weir::cuda
