// The caching allocator of the host.
//
// A request is rounded up to a size class. Blocks of small classes travel between a list of each thread (no lock) and
// a central list a class, in batches, so that a thread that only frees feeds one that only allocates. Blocks of large
// classes are kept in central lists alone, and lent for somewhat less than they hold before more memory is asked for.
// Singletons are leaked on purpose: tensors may die after main().
#include "weir/tensor/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "weir/base/sanitizers.h"
#include "weir/tensor/memory_charge.h"
#include "weir/tensor/trim.h"

namespace weir {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;  // every block is the system's own, so that stale pointers are found
#else
constexpr bool kCaching = true;
#endif

// Steps of 64 bytes up to 1 KiB, then four a doubling up to 4 MiB, then eight.
constexpr size_t kFineLimit = 1024;
constexpr size_t kCoarseLimit = size_t{4} << 20;
constexpr int kFineClasses = 16;
constexpr int kCoarseClasses = 4 * 12;
constexpr int kHugeClasses = 8 * 25;  // up to 2^47
constexpr int kClasses = kFineClasses + kCoarseClasses + kHugeClasses;
constexpr size_t kSmallLimit = size_t{32} << 10;
constexpr int kSmallClasses = kFineClasses + 4 * 5;
// Blocks up to this size are cut from slabs and never go back to the system.
constexpr size_t kSlabLimit = size_t{8} << 10;
constexpr size_t kSlabBytes = size_t{128} << 10;
constexpr size_t kCachedBytesLimit = size_t{1} << 30;
constexpr size_t kHugePage = size_t{2} << 20;
// Before a block of a large class there is the number of its class, for it may be lent for less.
constexpr size_t kHeaderBytes = kTensorAlignment;

constexpr int GeometricClass(size_t bytes, size_t limit, int per_doubling_log) {
  // Class k covers (limit * 2^(k / n) * (1 + (k % n) / n), ...] with n steps a doubling.
  int doubling = std::bit_width((bytes - 1) / limit) - 1;
  size_t step = (limit << doubling) >> per_doubling_log;
  return (doubling << per_doubling_log) + static_cast<int>((bytes - 1 - (limit << doubling)) / step);
}
constexpr size_t GeometricSize(int k, size_t limit, int per_doubling_log) {
  size_t base = limit << (k >> per_doubling_log);
  return base + (base >> per_doubling_log) * ((k & ((1 << per_doubling_log) - 1)) + 1);
}
constexpr int ClassOf(size_t bytes) {
  if (bytes <= kFineLimit) return static_cast<int>((bytes + 63) / 64) - (bytes > 0);
  if (bytes <= kCoarseLimit) return kFineClasses + GeometricClass(bytes, kFineLimit, 2);
  return kFineClasses + kCoarseClasses + GeometricClass(bytes, kCoarseLimit, 3);
}
constexpr size_t ClassSize(int k) {
  if (k < kFineClasses) return 64 * static_cast<size_t>(k + 1);
  if (k < kFineClasses + kCoarseClasses) return GeometricSize(k - kFineClasses, kFineLimit, 2);
  return GeometricSize(k - kFineClasses - kCoarseClasses, kCoarseLimit, 3);
}
static_assert(ClassOf(0) == 0 && ClassOf(64) == 0 && ClassOf(65) == 1 && ClassOf(1024) == 15 && ClassOf(1025) == 16);
static_assert(ClassSize(15) == 1024 && ClassSize(16) == 1280 && ClassSize(kSmallClasses - 1) == kSmallLimit);
static_assert(ClassSize(ClassOf(kCoarseLimit)) == kCoarseLimit && ClassOf(kCoarseLimit + 1) == 64);
static_assert(ClassSize(kClasses - 1) == size_t{1} << 47);

// How many blocks of a small class a thread keeps at most; half of them move at a time.
constexpr std::array<uint16_t, kSmallClasses> MakeCapacities() {
  std::array<uint16_t, kSmallClasses> out = {};
  for (int k = 0; k < kSmallClasses; ++k) {
    out[k] = static_cast<uint16_t>(std::clamp<size_t>((size_t{128} << 10) / ClassSize(k), 4, 256));
  }
  return out;
}
constexpr std::array<uint16_t, kSmallClasses> kCapacity = MakeCapacities();

struct FreeBlock {
  FreeBlock* next;
};

// Only the owning thread writes; Stats reads the counters from outside.
struct ThreadList {
  FreeBlock* head = nullptr;
  std::atomic<uint32_t> count{0};
};
struct ThreadCache {
  std::array<ThreadList, kSmallClasses> lists;
  std::atomic<int64_t> allocations{0};
  ThreadCache* next = nullptr;
  ThreadCache* previous = nullptr;
};

template <typename T>
void AddUnshared(std::atomic<T>& counter, T amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

size_t PhysicalMemory() {
  static const size_t bytes = [] {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) : ~size_t{0};
  }();
  return bytes;
}

class CentralCache {
 public:
  static CentralCache& Get() {
    static auto* cache = new CentralCache;
    return *cache;
  }

  // A chain of up to `wanted` blocks of a small class, at least one unless there is no memory.
  FreeBlock* TakeBatch(int k, int wanted, int* taken) {
    size_t size = ClassSize(k);
    *taken = 0;
    int64_t granted = static_cast<int64_t>(size) * wanted;
    if (!Charge(granted)) {
      granted = static_cast<int64_t>(size);
      wanted = 1;
      if (!Charge(granted)) return nullptr;
    }
    FreeBlock* chain = nullptr;
    {
      Central& central = small_[k];
      std::lock_guard<std::mutex> lock(central.mutex);
      while (*taken < wanted) {
        FreeBlock* block = central.head;
        if (block != nullptr) {
          central.head = block->next;
          cached_.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
        } else {
          // What lies in the central list is worth taking; new memory only as much as a small batch needs.
          if (*taken >= std::max(1, wanted / 4)) break;
          block = New(central, size);
          if (block == nullptr) break;
        }
        block->next = chain;
        chain = block;
        ++*taken;
      }
    }
    in_use_.fetch_sub(granted - static_cast<int64_t>(size) * *taken, std::memory_order_relaxed);
    return chain;
  }

  void GiveBatch(int k, FreeBlock* first, FreeBlock* last, int count) {
    int64_t bytes = static_cast<int64_t>(ClassSize(k)) * count;
    {
      Central& central = small_[k];
      std::lock_guard<std::mutex> lock(central.mutex);
      last->next = central.head;
      central.head = first;
    }
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    if (cached_.fetch_add(bytes, std::memory_order_relaxed) + bytes > static_cast<int64_t>(kCachedBytesLimit)) {
      Trim(kCachedBytesLimit);
    }
  }

  void* TakeLarge(size_t bytes) {
    if (bytes > PhysicalMemory() || bytes > ClassSize(kClasses - 1) / 2) return nullptr;
    direct_allocations_.fetch_add(1, std::memory_order_relaxed);
    if (!Charge(static_cast<int64_t>(bytes))) return nullptr;
    // A block that idles in a class not much larger is better than more memory.
    const int own = ClassOf(bytes), last = ClassOf(bytes + bytes / 4 * 3);
    for (int k = own; k <= last; ++k) {
      Central& central = large_[k - kSmallClasses];
      if (k > own && central.count.load(std::memory_order_relaxed) == 0) continue;
      std::lock_guard<std::mutex> lock(central.mutex);
      if (central.head != nullptr) return TakeHead(central, ClassSize(k));
    }
    char* block = static_cast<char*>(FromSystem(ClassSize(own) + kHeaderBytes));
    if (block == nullptr) {
      in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
      return nullptr;
    }
    *reinterpret_cast<int*>(block) = own;
    return block + kHeaderBytes;
  }

  void GiveLarge(void* data, size_t bytes) {
    const int k = *reinterpret_cast<int*>(static_cast<char*>(data) - kHeaderBytes);
    int64_t size = static_cast<int64_t>(ClassSize(k));
    in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    auto* block = static_cast<FreeBlock*>(data);
    {
      Central& central = large_[k - kSmallClasses];
      std::lock_guard<std::mutex> lock(central.mutex);
      block->next = central.head;
      central.head = block;
      central.count.fetch_add(1, std::memory_order_relaxed);
    }
    if (cached_.fetch_add(size, std::memory_order_relaxed) + size > static_cast<int64_t>(kCachedBytesLimit)) {
      Trim(kCachedBytesLimit);
    }
  }

  // Without caching: straight from and to the system.
  void* TakeDirect(size_t bytes) {
    if (bytes > PhysicalMemory()) return nullptr;
    direct_allocations_.fetch_add(1, std::memory_order_relaxed);
    if (!Charge(static_cast<int64_t>(bytes))) return nullptr;
    void* block = FromSystem(std::max<size_t>(bytes, 1));
    if (block == nullptr) in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    return block;
  }
  void GiveDirect(void* block, size_t bytes) {
    in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    std::free(block);
  }

  void Enter(ThreadCache* cache) {
    std::lock_guard<std::mutex> lock(threads_mutex_);
    cache->next = threads_;
    if (threads_ != nullptr) threads_->previous = cache;
    threads_ = cache;
  }
  void Leave(ThreadCache* cache) {
    for (int k = 0; k < kSmallClasses; ++k) {
      ThreadList& list = cache->lists[k];
      if (list.head == nullptr) continue;
      FreeBlock* last = list.head;
      int count = 1;
      for (; last->next != nullptr; last = last->next) ++count;
      GiveBatch(k, list.head, last, count);
      list.count.store(0, std::memory_order_relaxed);
    }
    std::lock_guard<std::mutex> lock(threads_mutex_);
    (cache->previous != nullptr ? cache->previous->next : threads_) = cache->next;
    if (cache->next != nullptr) cache->next->previous = cache->previous;
    direct_allocations_.fetch_add(cache->allocations.load(std::memory_order_relaxed), std::memory_order_relaxed);
    delete cache;
  }

  AllocatorStats Stats() {
    AllocatorStats stats;
    stats.num_allocations = direct_allocations_.load(std::memory_order_relaxed);
    int64_t idle = IdleInThreads(&stats.num_allocations);
    stats.bytes_in_use = std::max<int64_t>(0, in_use_.load(std::memory_order_relaxed) - idle);
    stats.peak_bytes_in_use = std::max(stats.bytes_in_use, peak_.load(std::memory_order_relaxed));
    stats.bytes_limit = limit_.load(std::memory_order_relaxed);
    return stats;
  }

  // Idle blocks of large classes that hold `bytes` and up to a tensor's record more.
  void TrimSize(size_t bytes) {
    for (int k = ClassOf(bytes); bytes > kSmallLimit && k <= ClassOf(bytes + kTensorAlignment); ++k) {
      Central& central = large_[k - kSmallClasses];
      std::lock_guard<std::mutex> lock(central.mutex);
      while (central.head != nullptr) FreeHead(central, k);
    }
  }

  // Counts `bytes` as handed out, unless that would pass the limit. Blocks that idle in threads are counted as handed
  // out, so they are looked at only when the limit seems to be passed.
  bool Charge(int64_t bytes) {
    int64_t now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t limit = limit_.load(std::memory_order_relaxed);
    if (limit > 0 && now > limit && now - IdleInThreads(nullptr) > limit) {
      in_use_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    return true;
  }
  void Discharge(int64_t bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

  void set_limit(int64_t bytes) { limit_.store(std::max<int64_t>(0, bytes), std::memory_order_relaxed); }
  int64_t system_allocations() const { return system_allocations_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Central {
    std::mutex mutex;
    FreeBlock* head = nullptr;
    std::atomic<int> count{0};  // of the list, where the class is large
    char* slab = nullptr;
    char* slab_end = nullptr;
  };

  int64_t IdleInThreads(int64_t* allocations) {
    std::lock_guard<std::mutex> lock(threads_mutex_);
    int64_t bytes = 0;
    for (ThreadCache* cache = threads_; cache != nullptr; cache = cache->next) {
      for (int k = 0; k < kSmallClasses; ++k) {
        bytes += static_cast<int64_t>(ClassSize(k)) * cache->lists[k].count.load(std::memory_order_relaxed);
      }
      if (allocations != nullptr) *allocations += cache->allocations.load(std::memory_order_relaxed);
    }
    return bytes;
  }

  // One new block of a small class. REQUIRES: central.mutex is held.
  FreeBlock* New(Central& central, size_t size) {
    if (size > kSlabLimit) return static_cast<FreeBlock*>(FromSystem(size, &central));
    if (static_cast<size_t>(central.slab_end - central.slab) < size) {
      central.slab = static_cast<char*>(FromSystem(kSlabBytes, &central));
      central.slab_end = central.slab == nullptr ? nullptr : central.slab + kSlabBytes;
      if (central.slab == nullptr) return nullptr;
    }
    auto* block = reinterpret_cast<FreeBlock*>(central.slab);
    central.slab += size;
    return block;
  }

  void* FromSystem(size_t size, const Central* held = nullptr) {
    system_allocations_.fetch_add(1, std::memory_order_relaxed);
    size_t alignment = size >= kCoarseLimit && kCaching ? kHugePage : kTensorAlignment;
    void* block = nullptr;
    if (posix_memalign(&block, alignment, size) != 0) {
      Trim(0, held);
      if (posix_memalign(&block, alignment, size) != 0) return nullptr;
    }
    if (alignment == kHugePage) madvise(block, size & ~(kHugePage - 1), MADV_HUGEPAGE);
    return block;
  }

  // Gives cached blocks back to the system, larger ones first, until at most `bytes` are kept. Only classes above
  // those cut from slabs. The caller may hold the mutex of one class, `held`; others are only tried, so that two
  // threads that trim cannot wait for each other.
  void Trim(size_t bytes, const Central* held = nullptr) {
    for (int k = kClasses - 1; k >= 0 && ClassSize(k) > kSlabLimit; --k) {
      Central& central = k < kSmallClasses ? small_[k] : large_[k - kSmallClasses];
      if (&central == held) continue;
      std::unique_lock<std::mutex> lock(central.mutex, std::try_to_lock);
      if (!lock.owns_lock()) continue;
      while (central.head != nullptr) {
        if (cached_.load(std::memory_order_relaxed) <= static_cast<int64_t>(bytes)) return;
        FreeHead(central, k);
      }
    }
  }
  // REQUIRES: central.mutex is held, there is a head.
  FreeBlock* TakeHead(Central& central, size_t size) {
    FreeBlock* block = central.head;
    central.head = block->next;
    central.count.fetch_sub(1, std::memory_order_relaxed);
    cached_.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
    return block;
  }
  // REQUIRES: central.mutex is held, there is a head; k is its class.
  void FreeHead(Central& central, int k) {
    const size_t size = ClassSize(k);
    FreeBlock* block = TakeHead(central, size);
    // The system's allocator may keep the block for later, but need not keep its pages.
    static const auto page = static_cast<uintptr_t>(std::max(4096L, sysconf(_SC_PAGESIZE)));
    const auto begin = reinterpret_cast<uintptr_t>(block);
    const uintptr_t first = (begin + page - 1) / page * page, last = (begin + size) / page * page;
    if (size >= kCoarseLimit && last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    std::free(reinterpret_cast<char*>(block) - (k < kSmallClasses ? 0 : kHeaderBytes));
  }

  std::array<Central, kSmallClasses> small_;
  std::array<Central, kClasses - kSmallClasses> large_;
  std::mutex threads_mutex_;
  ThreadCache* threads_ = nullptr;
  std::atomic<int64_t> in_use_{0};  // handed out: live, or idle in a thread
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> cached_{0};  // in central lists
  std::atomic<int64_t> limit_{0};
  std::atomic<int64_t> direct_allocations_{0};
  std::atomic<int64_t> system_allocations_{0};
};

// One word of thread-local storage, reached without a call even from a shared library.
__attribute__((tls_model("initial-exec"))) constinit thread_local ThreadCache* thread_cache = nullptr;
constinit thread_local bool thread_is_ending = false;

struct ThreadExit {
  bool armed = false;
  ~ThreadExit() {
    thread_is_ending = true;
    if (thread_cache != nullptr) CentralCache::Get().Leave(std::exchange(thread_cache, nullptr));
  }
};
thread_local ThreadExit thread_exit;

// Null once the thread's own objects are being destroyed: what is freed later goes to the central lists.
ThreadCache* MakeThreadCache() {
  if (thread_is_ending) return nullptr;
  thread_exit.armed = true;
  thread_cache = new ThreadCache;
  CentralCache::Get().Enter(thread_cache);
  return thread_cache;
}

[[gnu::noinline]] void* AllocateSlowly(size_t bytes) {
  CentralCache& central = CentralCache::Get();
  if (!kCaching) return central.TakeDirect(bytes);
  if (bytes > kSmallLimit) return central.TakeLarge(bytes);
  int k = ClassOf(bytes);
  ThreadCache* cache = thread_cache != nullptr ? thread_cache : MakeThreadCache();
  int taken = 0;
  FreeBlock* chain = central.TakeBatch(k, cache != nullptr ? kCapacity[k] / 2 : 1, &taken);
  if (chain == nullptr) return nullptr;
  if (cache != nullptr) {
    AddUnshared<int64_t>(cache->allocations, 1);
    cache->lists[k].head = chain->next;
    cache->lists[k].count.store(static_cast<uint32_t>(taken - 1), std::memory_order_relaxed);
  }
  return chain;
}

[[gnu::noinline]] void DeallocateSlowly(void* data, size_t bytes) {
  CentralCache& central = CentralCache::Get();
  if (!kCaching) return central.GiveDirect(data, bytes);
  if (bytes > kSmallLimit) return central.GiveLarge(data, bytes);
  int k = ClassOf(bytes);
  auto* block = static_cast<FreeBlock*>(data);
  ThreadCache* cache = thread_cache != nullptr ? thread_cache : MakeThreadCache();
  if (cache == nullptr) return central.GiveBatch(k, block, block, 1);
  ThreadList& list = cache->lists[k];
  if (list.count.load(std::memory_order_relaxed) >= kCapacity[k]) {
    int count = kCapacity[k] / 2;
    FreeBlock* first = list.head;
    FreeBlock* last = first;
    for (int i = 1; i < count; ++i) last = last->next;
    list.head = last->next;
    list.count.store(list.count.load(std::memory_order_relaxed) - static_cast<uint32_t>(count),
                     std::memory_order_relaxed);
    central.GiveBatch(k, first, last, count);
  }
  block->next = list.head;
  list.head = block;
  AddUnshared<uint32_t>(list.count, 1);
}

class CachingAllocator final : public Allocator {
 public:
  std::string_view name() const override { return "cpu"; }
  void* Allocate(size_t bytes) override { return CpuAllocate(bytes); }
  void Deallocate(void* block, size_t bytes) override { CpuDeallocate(block, bytes); }
  AllocatorStats Stats() const override { return CentralCache::Get().Stats(); }
};

}  // namespace

void* CpuAllocate(size_t bytes) {
  ThreadCache* cache = thread_cache;
  if (kCaching && bytes <= kSmallLimit && cache != nullptr) [[likely]] {
    ThreadList& list = cache->lists[ClassOf(bytes)];
    if (FreeBlock* block = list.head; block != nullptr) [[likely]] {
      list.head = block->next;
      AddUnshared<uint32_t>(list.count, -1u);
      AddUnshared<int64_t>(cache->allocations, 1);
      return block;
    }
  }
  return AllocateSlowly(bytes);
}

void CpuDeallocate(void* data, size_t bytes) {
  if (data == nullptr) return;
  ThreadCache* cache = thread_cache;
  if (kCaching && bytes <= kSmallLimit && cache != nullptr) [[likely]] {
    int k = ClassOf(bytes);
    ThreadList& list = cache->lists[k];
    uint32_t count = list.count.load(std::memory_order_relaxed);
    if (count < kCapacity[k]) [[likely]] {
      auto* block = static_cast<FreeBlock*>(data);
      block->next = list.head;
      list.head = block;
      list.count.store(count + 1, std::memory_order_relaxed);
      return;
    }
  }
  DeallocateSlowly(data, bytes);
}

Allocator* CpuAllocator() {
  static Allocator* allocator = new CachingAllocator;
  return allocator;
}
void CpuTrim(size_t bytes) { CentralCache::Get().TrimSize(bytes); }
void SetCpuMemoryLimit(int64_t bytes) { CentralCache::Get().set_limit(bytes); }
bool ChargeCpuMemory(size_t bytes) { return CentralCache::Get().Charge(static_cast<int64_t>(bytes)); }
void DischargeCpuMemory(size_t bytes) { CentralCache::Get().Discharge(static_cast<int64_t>(bytes)); }
int64_t CpuSystemAllocations() { return CentralCache::Get().system_allocations(); }

}  // namespace weir
