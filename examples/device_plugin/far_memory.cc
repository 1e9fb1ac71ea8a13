#include "far_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace far {
namespace {

// What an allocation really takes.
size_t Rounded(size_t bytes) {
  constexpr size_t kUnit = weir::kTensorAlignment;
  return std::max(kUnit, (bytes + kUnit - 1) / kUnit * kUnit);
}

char* Map(size_t bytes, int protection) {
  void* where = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return where == MAP_FAILED ? nullptr : static_cast<char*>(where);
}

}  // namespace

weir::StatusOr<std::unique_ptr<FarMemory>> FarMemory::Make(size_t bytes) {
  char* addresses = Map(bytes, PROT_NONE);
  char* storage = Map(bytes, PROT_READ | PROT_WRITE);
  if (addresses == nullptr || storage == nullptr) {
    if (addresses != nullptr) munmap(addresses, bytes);
    return weir::ResourceExhausted("No room for the ", bytes, " bytes of the far device: ", std::strerror(errno));
  }
  return std::unique_ptr<FarMemory>(new FarMemory(addresses, storage, bytes));
}

FarMemory::FarMemory(char* addresses, char* storage, size_t bytes)
    : addresses_(addresses), storage_(storage), size_(bytes) {
  absl::MutexLock lock(&mu_);
  free_[0] = bytes;
  stats_.bytes_limit = static_cast<int64_t>(bytes);
}

FarMemory::~FarMemory() {
  munmap(addresses_, size_);
  munmap(storage_, size_);
}

void* FarMemory::Allocate(size_t bytes) {
  if (bytes > size_) return nullptr;
  const size_t wanted = Rounded(bytes);
  absl::MutexLock lock(&mu_);
  auto hole = std::find_if(free_.begin(), free_.end(), [&](const auto& each) { return each.second >= wanted; });
  if (hole == free_.end()) return nullptr;
  auto [offset, size] = *hole;
  free_.erase(hole);
  if (size > wanted) free_[offset + wanted] = size - wanted;
  ++stats_.num_allocations;
  stats_.bytes_in_use += static_cast<int64_t>(wanted);
  stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
  return addresses_ + offset;
}

void FarMemory::Deallocate(void* block, size_t bytes) {
  const size_t offset = static_cast<size_t>(static_cast<char*>(block) - addresses_);
  absl::MutexLock lock(&mu_);
  stats_.bytes_in_use -= static_cast<int64_t>(Rounded(bytes));
  auto hole = free_.emplace(offset, Rounded(bytes)).first;
  auto next = std::next(hole);
  if (next != free_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    free_.erase(next);
  }
  if (hole == free_.begin()) return;
  auto previous = std::prev(hole);
  if (previous->first + previous->second == hole->first) {
    previous->second += hole->second;
    free_.erase(hole);
  }
}

weir::AllocatorStats FarMemory::Stats() const {
  absl::MutexLock lock(&mu_);
  return stats_;
}

}  // namespace far
