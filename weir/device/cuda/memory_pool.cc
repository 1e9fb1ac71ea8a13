#include "weir/device/cuda/memory_pool.h"

#include <algorithm>
#include <cstdio>

#include "weir/base/strings.h"

namespace weir::cuda {
namespace {

size_t RoundUp(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + MemoryPool::kGranule - 1) / MemoryPool::kGranule * MemoryPool::kGranule;
}

std::string Mebibytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

MemoryPool::MemoryPool(std::shared_ptr<MemorySource> source, MemoryPoolOptions options)
    : source_(std::move(source)), options_(std::move(options)) {}

MemoryPool::~MemoryPool() {
  absl::MutexLock lock(&mu_);
  TrimLocked();
}

void* MemoryPool::Allocate(size_t bytes) {
  if (bytes > (size_t{1} << 62)) return nullptr;
  const size_t size = RoundUp(bytes);
  absl::MutexLock lock(&mu_);
  Block* block = FindFree(size);
  if (block == nullptr) block = TakeRegion(size);
  if (block == nullptr) return nullptr;
  free_.erase(block);
  if (block->size - size >= kGranule) {  // the rest stays free
    auto* rest = new Block{block->begin + size, block->size - size, 0, false, block, block->after};
    if (block->after != nullptr) block->after->before = rest;
    block->after = rest;
    block->size = size;
    free_.insert(rest);
  }
  block->used = true;
  block->wanted = bytes;
  used_.emplace(block->begin, block);
  in_use_ += block->size;
  peak_ = std::max(peak_, in_use_);
  ++allocations_;
  return block->begin;
}

void MemoryPool::Deallocate(void* address, size_t) {
  absl::MutexLock lock(&mu_);
  auto found = used_.find(static_cast<char*>(address));
  if (found == used_.end()) return;
  Block* block = found->second;
  used_.erase(found);
  in_use_ -= block->size;
  block->used = false;
  if (block->after != nullptr && !block->after->used) Absorb(block, block->after);
  if (block->before != nullptr && !block->before->used) {
    Block* before = block->before;
    free_.erase(before);
    Absorb(before, block);
    block = before;
  }
  free_.insert(block);
}

// Joins a block with the neighbour behind it, which is no more.
void MemoryPool::Absorb(Block* block, Block* neighbour) {
  free_.erase(neighbour);
  block->size += neighbour->size;
  block->after = neighbour->after;
  if (block->after != nullptr) block->after->before = block;
  delete neighbour;
}

MemoryPool::Block* MemoryPool::FindFree(size_t size) {
  Block wanted{nullptr, size};
  auto found = free_.lower_bound(&wanted);
  return found == free_.end() ? nullptr : *found;
}

MemoryPool::Block* MemoryPool::TakeRegion(size_t size) {
  size_t wanted = std::max(std::clamp(held_, options_.first_region, options_.largest_region), size);
  if (!options_.grow && options_.limit > 0) wanted = options_.limit - std::min(options_.limit, held_);
  if (options_.limit > 0) {
    if (held_ + size > options_.limit) TrimLocked();
    if (held_ + size > options_.limit) return nullptr;
    wanted = std::max(std::min(wanted, options_.limit - held_), size);
  }
  void* memory = source_->Take(wanted);
  if (memory == nullptr && wanted > size) memory = source_->Take(wanted = size);
  if (memory == nullptr) {
    TrimLocked();
    memory = source_->Take(wanted = size);
  }
  if (memory == nullptr) return nullptr;
  ++regions_taken_;
  held_ += wanted;
  auto* block = new Block{static_cast<char*>(memory), wanted};
  regions_[block->begin] = {block->begin, wanted, block};
  free_.insert(block);
  return block;
}

void MemoryPool::Trim() {
  absl::MutexLock lock(&mu_);
  TrimLocked();
}

void MemoryPool::TrimLocked() {
  for (auto each = regions_.begin(); each != regions_.end();) {
    Block* first = each->second.first;
    if (first->used || first->after != nullptr) {
      ++each;
      continue;
    }
    free_.erase(first);
    held_ -= each->second.size;
    source_->Give(each->second.begin, each->second.size);
    delete first;
    each = regions_.erase(each);
  }
}

AllocatorStats MemoryPool::Stats() const {
  absl::MutexLock lock(&mu_);
  return {static_cast<int64_t>(in_use_), static_cast<int64_t>(peak_), allocations_,
          static_cast<int64_t>(options_.limit)};
}

void MemoryPool::ForgetPeak() {
  absl::MutexLock lock(&mu_);
  peak_ = in_use_;
}

int64_t MemoryPool::regions_taken() const {
  absl::MutexLock lock(&mu_);
  return regions_taken_;
}

bool MemoryPool::Contains(const void* address) const { return RegionOf(address).first != nullptr; }

std::pair<void*, size_t> MemoryPool::RegionOf(const void* address) const {
  auto* at = const_cast<char*>(static_cast<const char*>(address));
  absl::MutexLock lock(&mu_);
  auto after = regions_.upper_bound(at);
  if (after == regions_.begin()) return {nullptr, 0};
  const Region& region = std::prev(after)->second;
  if (at >= region.begin + region.size) return {nullptr, 0};
  return {region.begin, region.size};
}

std::string MemoryPool::DescribeExhaustion(size_t bytes) const {
  constexpr size_t kMostRows = 8;
  absl::MutexLock lock(&mu_);
  std::map<size_t, int64_t, std::greater<>> counts;  // by size
  for (const auto& [address, block] : used_) ++counts[block->wanted];
  std::vector<std::pair<size_t, int64_t>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.first * static_cast<size_t>(a.second) > b.first * static_cast<size_t>(b.second);
  });
  const size_t idle = held_ - in_use_, largest = free_.empty() ? 0 : (*free_.rbegin())->size;
  std::string text = Cat(Mebibytes(bytes), " wanted; ", Mebibytes(in_use_), " in use (at most ", Mebibytes(peak_),
                         "), ", Mebibytes(idle), " free in pieces of at most ", Mebibytes(largest));
  if (options_.limit > 0) text += Cat(", limit ", Mebibytes(options_.limit));
  text += ". Largest holders:";
  for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    text += Cat("\n  ", rows[i].second, " x ", Mebibytes(rows[i].first), " = ",
                Mebibytes(rows[i].first * static_cast<size_t>(rows[i].second)));
  }
  return text;
}

}  // namespace weir::cuda
