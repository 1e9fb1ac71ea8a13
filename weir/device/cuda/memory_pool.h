// MemoryPool: memory of a device, taken from the driver in large regions and handed out in blocks.
//
// A block is cut from the smallest free one that is large enough, and joined with its free neighbours when it comes
// back, so a step whose shapes repeat asks the driver for nothing. Blocks that come back may be handed out at once,
// though work on them is still pending: all memory of a pool belongs to one stream, whose work is done in order
// (tensor/allocator.h). Whoever lets another stream touch a block keeps its tensor until that stream is done.
#ifndef WEIR_DEVICE_CUDA_MEMORY_POOL_H_
#define WEIR_DEVICE_CUDA_MEMORY_POOL_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/framework/exhaustion_report.h"
#include "weir/tensor/allocator.h"

namespace weir::cuda {

// Where a pool gets its regions: a device's memory, pinned memory of the host, or plain memory in tests. Thread-safe.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual void* Take(size_t bytes) = 0;  // null if there is none left
  virtual void Give(void* region, size_t bytes) = 0;
};

struct MemoryPoolOptions {
  std::string name = "GPU";
  size_t limit = 0;               // bytes that all regions may have together; 0: no limit
  bool grow = true;               // take regions as they are needed; else the whole limit at the first allocation
  size_t first_region = 2 << 20;  // then each region is as large as all before, up to...
  size_t largest_region = 1u << 30;
  bool host_memory = false;
};

// Thread-safe.
class MemoryPool : public Allocator, public ExhaustionReport {
 public:
  static constexpr size_t kGranule = 256;  // blocks are multiples of it and aligned to it

  MemoryPool(std::shared_ptr<MemorySource> source, MemoryPoolOptions options);
  ~MemoryPool() override;  // REQUIRES: all blocks are back

  std::string_view name() const override { return options_.name; }
  void* Allocate(size_t bytes) override;
  void Deallocate(void* block, size_t bytes) override;
  AllocatorStats Stats() const override;
  bool is_host_memory() const override { return options_.host_memory; }
  // How much is in use and how the rest is cut up, with a table of the largest holders.
  std::string DescribeExhaustion(size_t bytes) const override;

  // Whether an address lies in a region of the pool.
  bool Contains(const void* address) const;
  // The region that holds an address and its size; null if none does. For handles of memory that go to other processes.
  std::pair<void*, size_t> RegionOf(const void* address) const;
  // Counts the peak from now on.
  void ForgetPeak();
  // Gives regions that have no block in use back to the source.
  void Trim();
  int64_t regions_taken() const;  // how many times the source was asked, for tests and statistics

 private:
  struct Region;
  struct Block {
    char* begin = nullptr;
    size_t size = 0;
    size_t wanted = 0;  // bytes that the user asked for
    bool used = false;
    Block *before = nullptr, *after = nullptr;  // neighbours in the region
  };
  struct Region {
    char* begin = nullptr;
    size_t size = 0;
    Block* first = nullptr;
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->size != b->size ? a->size < b->size : a->begin < b->begin;
    }
  };

  Block* FindFree(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Block* TakeRegion(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TrimLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Absorb(Block* block, Block* neighbour) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<MemorySource> source_;
  const MemoryPoolOptions options_;
  mutable absl::Mutex mu_;
  std::map<char*, Region> regions_ ABSL_GUARDED_BY(mu_);  // by address
  std::map<char*, Block*> used_ ABSL_GUARDED_BY(mu_);
  std::set<Block*, BySize> free_ ABSL_GUARDED_BY(mu_);
  size_t held_ ABSL_GUARDED_BY(mu_) = 0;  // bytes of all regions
  size_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
  size_t peak_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t allocations_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t regions_taken_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_MEMORY_POOL_H_
