#include "weir/tensor/allocator.h"

#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "weir/base/sanitizers.h"
#include "weir/tensor/trim.h"

namespace weir {
namespace {

struct Block {
  char* data;
  size_t bytes;
};

Block Take(size_t bytes) { return {static_cast<char*>(CpuAllocate(bytes)), bytes}; }

TEST(CpuAllocator, AlignsAndKeepsBlocksApart) {
  std::vector<Block> blocks;
  for (size_t bytes = 0; bytes < 9000000; bytes = bytes * 3 / 2 + 1) {
    for (int i = 0; i < 3; ++i) blocks.push_back(Take(bytes));
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_NE(blocks[i].data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[i].data) % kTensorAlignment, 0u);
    std::memset(blocks[i].data, static_cast<int>(i), blocks[i].bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t k = 0; k < blocks[i].bytes; k += 97) ASSERT_EQ(blocks[i].data[k], static_cast<char>(i));
    CpuDeallocate(blocks[i].data, blocks[i].bytes);
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // there, blocks are never kept
TEST(CpuAllocator, AsksTheSystemForNothingOnceSizesRepeat) {
  std::vector<size_t> sizes = {0, 1, 64, 100, 1000, 1025, 5000, 32768, 32769, 100000, 5 << 20};
  auto round = [&] {
    std::vector<Block> blocks;
    for (int i = 0; i < 20; ++i) {
      for (size_t bytes : sizes) blocks.push_back(Take(bytes));
    }
    for (Block& block : blocks) CpuDeallocate(block.data, block.bytes);
  };
  round();
  int64_t before = CpuSystemAllocations();
  for (int i = 0; i < 10; ++i) round();
  EXPECT_EQ(CpuSystemAllocations(), before);
}

TEST(CpuAllocator, ABlockThatIdlesServesWhatIsNotMuchSmaller) {
  constexpr size_t kLarge = 37 << 20, kLess = 25 << 20, kMuchLess = 17 << 20;
  for (size_t bytes : {kLarge, kLess, kMuchLess}) CpuTrim(bytes);
  Block large = Take(kLarge);
  CpuDeallocate(large.data, large.bytes);
  const int64_t before = CpuSystemAllocations();
  for (int i = 0; i < 3; ++i) {
    for (size_t bytes : {kLess, kLarge}) {
      Block block = Take(bytes);
      EXPECT_EQ(block.data, large.data);
      CpuDeallocate(block.data, block.bytes);
    }
  }
  EXPECT_EQ(CpuSystemAllocations(), before);
  Block small = Take(kMuchLess);
  EXPECT_NE(small.data, large.data);
  CpuDeallocate(small.data, small.bytes);
}

TEST(CpuAllocator, BlocksReturnFromAThreadThatOnlyFrees) {
  auto pass = [] {
    std::vector<Block> blocks;
    for (int i = 0; i < 2000; ++i) blocks.push_back(Take(200));
    std::thread([&] {
      for (Block& block : blocks) CpuDeallocate(block.data, block.bytes);
    }).join();
  };
  pass();
  int64_t before = CpuSystemAllocations();
  for (int i = 0; i < 10; ++i) pass();
  EXPECT_LE(CpuSystemAllocations() - before, 1);
}
#endif

TEST(CpuAllocator, CountsWhatIsInUse) {
  int64_t before = CpuAllocator()->Stats().bytes_in_use;
  int64_t calls = CpuAllocator()->Stats().num_allocations;
  Block small = Take(128), large = Take(1000000);
  EXPECT_EQ(CpuAllocator()->Stats().bytes_in_use, before + 128 + 1000000);
  EXPECT_GE(CpuAllocator()->Stats().peak_bytes_in_use, before + 128 + 1000000);
  CpuDeallocate(small.data, small.bytes);
  CpuDeallocate(large.data, large.bytes);
  EXPECT_EQ(CpuAllocator()->Stats().bytes_in_use, before);
  EXPECT_EQ(CpuAllocator()->Stats().num_allocations, calls + 2);
}

TEST(CpuAllocator, RefusesWhatPassesTheLimit) {
  int64_t used = CpuAllocator()->Stats().bytes_in_use;
  SetCpuMemoryLimit(used + 1000000);
  EXPECT_EQ(CpuAllocate(1000001), nullptr);
  Block block = Take(1000000);
  EXPECT_NE(block.data, nullptr);
  EXPECT_EQ(CpuAllocate(100000), nullptr);
  CpuDeallocate(block.data, block.bytes);
  block = Take(1000000);
  EXPECT_NE(block.data, nullptr);
  CpuDeallocate(block.data, block.bytes);
  EXPECT_EQ(CpuAllocator()->Stats().bytes_limit, used + 1000000);
  SetCpuMemoryLimit(0);
}

TEST(CpuAllocator, RefusesAbsurdSizes) {
  for (size_t bytes : {size_t{1} << 46, size_t{1} << 50, size_t{1} << 62, ~size_t{0}, ~size_t{0} - 63}) {
    EXPECT_EQ(CpuAllocate(bytes), nullptr) << bytes;
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // there, blocks are never kept
TEST(CpuAllocator, TrimmedSizesComeFromTheSystemAgain) {
  constexpr size_t kBytes = size_t{9} << 20;
  CpuDeallocate(CpuAllocate(kBytes), kBytes);
  const int64_t before = CpuSystemAllocations();
  CpuDeallocate(CpuAllocate(kBytes), kBytes);
  EXPECT_EQ(CpuSystemAllocations(), before);
  CpuTrim(kBytes);
  CpuDeallocate(CpuAllocate(kBytes), kBytes);
  EXPECT_EQ(CpuSystemAllocations(), before + 1);
  CpuTrim(100);  // small blocks stay
}
#endif

TEST(CpuAllocator, ThreadsExchangeBlocks) {
  int64_t before = CpuAllocator()->Stats().bytes_in_use;
  std::mutex mutex;
  std::vector<Block> shared;
  auto work = [&](int seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 5000; ++i) {
      Block block = Take(random() % 8 == 0 ? random() % 100000 : random() % 600);
      std::memset(block.data, seed, block.bytes);
      {
        // What is freed here was mostly allocated elsewhere.
        std::lock_guard<std::mutex> lock(mutex);
        if (shared.size() < 100) {
          shared.push_back(block);
          continue;
        }
        std::swap(block, shared[random() % shared.size()]);
      }
      CpuDeallocate(block.data, block.bytes);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i + 1);
  for (std::thread& thread : threads) thread.join();
  for (Block& block : shared) CpuDeallocate(block.data, block.bytes);
  EXPECT_EQ(CpuAllocator()->Stats().bytes_in_use, before);
}

}  // namespace
}  // namespace weir
