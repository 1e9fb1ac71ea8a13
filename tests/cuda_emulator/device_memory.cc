#include "device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cuda_emulator {
namespace {

constexpr size_t kAlignment = 512;
constexpr size_t kPage = 4096;
constexpr size_t kGranule = 256;
constexpr size_t kGap = 512;  // between allocations, so that the byte after one is never valid
constexpr size_t kFillAtMost = size_t{256} << 20;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void* MapOrDie(size_t bytes, int protection, int flags, int file) {
  void* address = mmap(nullptr, bytes, protection, flags | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED) {
    std::perror("cuda_emulator: no address space for device memory");
    std::abort();
  }
  return address;
}

size_t BytesToFill(size_t bytes) {
  static const char* const setting = std::getenv("CUDA_EMULATOR_INITCHECK");
  if (setting == nullptr) return std::min(bytes, kFillAtMost);
  return std::strcmp(setting, "0") == 0 ? 0 : bytes;
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t limit) : limit_(limit) {
  span_ = RoundUp(std::max<uint64_t>(8 * limit, uint64_t{1} << 30), kPage);
  file_ = memfd_create("cuda_emulator", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(span_)) != 0) {
    std::perror("cuda_emulator: no file for device memory");
    std::abort();
  }
  base_ = reinterpret_cast<uint64_t>(MapOrDie(span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
  storage_ = static_cast<char*>(MapOrDie(span_, PROT_READ | PROT_WRITE, MAP_SHARED, file_));
  valid_ = static_cast<uint16_t*>(
      MapOrDie(span_ / kGranule * sizeof(uint16_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
  holes_[0] = span_;
}

std::optional<uint64_t> DeviceMemory::Reserve(size_t bytes, size_t alignment) {
  // Where the last one ended, so that freed addresses rest; from the start if nothing is left there.
  for (const uint64_t from : {next_, uint64_t{0}}) {
    auto hole = holes_.upper_bound(from);
    if (hole != holes_.begin()) --hole;
    for (; hole != holes_.end(); ++hole) {
      const auto [offset, size] = *hole;
      const uint64_t begin = RoundUp(std::max(offset, from), alignment);
      if (begin + bytes > offset + size) continue;
      holes_.erase(hole);
      if (begin > offset) holes_[offset] = begin - offset;
      if (begin + bytes < offset + size) holes_[begin + bytes] = offset + size - begin - bytes;
      next_ = begin + bytes;
      return begin;
    }
  }
  return std::nullopt;
}

void DeviceMemory::Release(uint64_t offset, size_t bytes) {
  auto hole = holes_.emplace(offset, bytes).first;
  auto next = std::next(hole);
  if (next != holes_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    holes_.erase(next);
  }
  if (hole == holes_.begin()) return;
  auto previous = std::prev(hole);
  if (previous->first + previous->second == hole->first) {
    previous->second += hole->second;
    holes_.erase(hole);
  }
}

void DeviceMemory::MarkValid(uint64_t offset, size_t size, bool valid) {
  for (size_t done = 0; done < size; done += kGranule) {
    __atomic_store_n(&valid_[(offset + done) / kGranule],
                     static_cast<uint16_t>(valid ? std::min(kGranule, size - done) : 0), __ATOMIC_RELAXED);
  }
}

uint64_t DeviceMemory::Allocate(size_t bytes) {
  std::unique_lock lock(mutex_);
  if (bytes > limit_) return 0;
  const size_t alignment = bytes >= kPage ? kPage : kAlignment;
  const size_t rounded = RoundUp(bytes, alignment);
  if (used_ + rounded > limit_) return 0;
  const std::optional<uint64_t> offset = Reserve(rounded + kGap, alignment);
  if (!offset) return 0;
  used_ += rounded;
  allocations_[*offset] = {bytes, rounded + kGap, false};
  MarkValid(*offset, bytes, true);
  lock.unlock();
  std::memset(storage_ + *offset, 0xCB, BytesToFill(bytes));
  return base_ + *offset;
}

bool DeviceMemory::Free(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = allocations_.find(address - base_);
  if (found == allocations_.end() || found->second.is_foreign) return false;
  const auto [offset, allocation] = *found;
  MarkValid(offset, allocation.size, false);
  const size_t rounded = allocation.reserved - kGap;
  used_ -= rounded;
  if (rounded >= kPage) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(rounded));
  }
  Release(offset, allocation.reserved);
  allocations_.erase(found);
  return true;
}

void DeviceMemory::FreeAll() {
  std::map<uint64_t, Allocation> all;
  {
    std::lock_guard lock(mutex_);
    all = allocations_;
  }
  for (const auto& [offset, allocation] : all) {
    if (allocation.is_foreign) {
      UnmapForeign(base_ + offset);
    } else {
      Free(base_ + offset);
    }
  }
}

std::optional<DeviceMemory::Range> DeviceMemory::Find(uint64_t address) const {
  if (!Contains(address)) return std::nullopt;
  std::lock_guard lock(mutex_);
  const uint64_t offset = address - base_;
  auto found = allocations_.upper_bound(offset);
  if (found == allocations_.begin()) return std::nullopt;
  --found;
  if (offset - found->first >= found->second.size) return std::nullopt;
  return Range{base_ + found->first, found->second.size};
}

char* DeviceMemory::Storage(uint64_t address, size_t size) const {
  const std::optional<Range> range = Find(address);
  if (!range || address - range->begin + size > range->size) return nullptr;
  return storage_ + (address - base_);
}

uint64_t DeviceMemory::MapForeign(int file, uint64_t offset, size_t size) {
  std::lock_guard lock(mutex_);
  const uint64_t first = offset / kPage * kPage;
  const size_t mapped = RoundUp(offset + size - first, kPage);
  const std::optional<uint64_t> place = Reserve(mapped + kPage, kPage);
  if (!place) return 0;
  if (mmap(storage_ + *place, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           static_cast<off_t>(first)) == MAP_FAILED) {
    Release(*place, mapped + kPage);
    return 0;
  }
  // The allocation begins within the page where it does in the other process.
  const uint64_t begin = *place + (offset - first);
  allocations_[begin] = {size, mapped + kPage, true};
  MarkValid(begin, size, true);
  return base_ + begin;
}

bool DeviceMemory::UnmapForeign(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = allocations_.find(address - base_);
  if (found == allocations_.end() || !found->second.is_foreign) return false;
  const auto [begin, allocation] = *found;
  const uint64_t place = begin / kPage * kPage;
  MarkValid(begin, allocation.size, false);
  mmap(storage_ + place, allocation.reserved - kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
       static_cast<off_t>(place));
  Release(place, allocation.reserved);
  allocations_.erase(found);
  return true;
}

uint64_t DeviceMemory::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace cuda_emulator
