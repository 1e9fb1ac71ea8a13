// The memory of an emulated GPU.
//
// Addresses that are handed out belong to a range that the host may not touch. What lies there is kept in a file in
// memory (memfd) that is mapped a second time, where kernels and copies reach it. Another process can map the same
// file, which is how IPC handles work. The range is larger than the memory, so that a freed address is not soon used
// again.
#ifndef WEIR_TESTS_CUDA_EMULATOR_DEVICE_MEMORY_H_
#define WEIR_TESTS_CUDA_EMULATOR_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace cuda_emulator {

class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t limit);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // 0 when out of memory. The new memory is filled with 0xCB.
  uint64_t Allocate(size_t bytes);
  // False if no allocation begins at this address.
  bool Free(uint64_t address);
  void FreeAll();

  struct Range {
    uint64_t begin;
    size_t size;
  };
  // The live allocation that an address lies in.
  std::optional<Range> Find(uint64_t address) const;
  bool Contains(uint64_t address) const { return address - base_ < span_; }
  // Where [address, address + size) is kept; nullptr unless all of it belongs to one live allocation.
  char* Storage(uint64_t address, size_t size) const;

  // Memory of another process: `size` bytes at `offset` of a file. The address counts as an allocation.
  uint64_t MapForeign(int file, uint64_t offset, size_t size);
  bool UnmapForeign(uint64_t address);
  int file() const { return file_; }
  uint64_t OffsetOf(uint64_t address) const { return address - base_; }

  uint64_t limit() const { return limit_; }
  uint64_t used() const;

  uint64_t base() const { return base_; }
  uint64_t span() const { return span_; }
  char* storage() const { return storage_; }
  const uint16_t* valid() const { return valid_; }

 private:
  struct Allocation {
    size_t size;
    size_t reserved;
    bool is_foreign;
  };
  std::optional<uint64_t> Reserve(size_t bytes, size_t alignment);
  void Release(uint64_t offset, size_t bytes);
  void MarkValid(uint64_t offset, size_t size, bool valid);

  const uint64_t limit_;
  uint64_t span_ = 0;
  uint64_t base_ = 0;
  char* storage_ = nullptr;
  uint16_t* valid_ = nullptr;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::map<uint64_t, size_t> holes_;  // by offset
  std::map<uint64_t, Allocation> allocations_;
  uint64_t next_ = 0;  // where to look for a hole first
  uint64_t used_ = 0;
};

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_DEVICE_MEMORY_H_
