// Memory of tensors.
//
// A device that works later than the host (framework/device.h) gets memory back while work on it is still pending: a
// tensor dies when the host has no use for it any more, not when the device is done. Its allocator therefore does one
// of two things. Either pending work holds references to the tensors it touches, so that memory only comes back when it
// is idle; or all memory belongs to one stream, and a block that came back is given only to work that this stream does
// later. Blocks that another stream touches are then held by that work until an event says that it is over.
#ifndef WEIR_TENSOR_ALLOCATOR_H_
#define WEIR_TENSOR_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

inline constexpr size_t kTensorAlignment = 64;

struct AllocatorStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;  // may count blocks that idle in a thread's cache
  int64_t num_allocations = 0;    // all calls of Allocate so far
  int64_t bytes_limit = 0;        // 0: none
};

// Thread-safe. Blocks are aligned to kTensorAlignment.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual std::string_view name() const = 0;
  // Null if there is no memory (or the limit would be passed).
  virtual void* Allocate(size_t bytes) = 0;
  // REQUIRES: `bytes` is what was asked for.
  virtual void Deallocate(void* block, size_t bytes) = 0;
  virtual AllocatorStats Stats() const { return {}; }
  // True if the host can read and write the memory.
  virtual bool is_host_memory() const { return true; }
};

// The host's allocator: keeps freed blocks by size, small ones per thread, so that a step whose shapes repeat asks the
// system for nothing.
Allocator* CpuAllocator();
// The same, without the virtual call.
void* CpuAllocate(size_t bytes);
void CpuDeallocate(void* block, size_t bytes);
// Bytes that all live blocks of CpuAllocator() may take together; 0: no limit.
void SetCpuMemoryLimit(int64_t bytes);
// How many times CpuAllocator() went to the system; for tests and benchmarks.
int64_t CpuSystemAllocations();

}  // namespace weir

#endif  // WEIR_TENSOR_ALLOCATOR_H_
