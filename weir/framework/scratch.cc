#include "weir/framework/scratch.h"

#include "weir/tensor/allocator.h"
#include "weir/tensor/shape.h"

namespace weir {

Status CheckScratch(int64_t count, size_t bytes_each) {
  constexpr int64_t kAlways = 1 << 20;  // not worth the asking
  const std::optional<int64_t> bytes = CheckedMultiply(count, static_cast<int64_t>(bytes_each));
  if (bytes && *bytes <= kAlways) return OkStatus();
  // The allocator knows its limit and the machine's memory. Nothing is touched, so the asking is cheap.
  void* block = bytes ? CpuAllocate(static_cast<size_t>(*bytes)) : nullptr;
  if (block == nullptr) return ResourceExhausted("OOM when allocating scratch memory for ", count, " elements");
  CpuDeallocate(block, static_cast<size_t>(*bytes));
  return OkStatus();
}

}  // namespace weir
