// Memory of tensors that does not come from CpuAllocator() but counts against its limit.
#ifndef WEIR_TENSOR_MEMORY_CHARGE_H_
#define WEIR_TENSOR_MEMORY_CHARGE_H_

#include <cstddef>

namespace weir {

// Counts memory from elsewhere that holds a tensor among the allocator's live blocks (SetCpuMemoryLimit). False if the
// limit would be passed; otherwise Discharge must follow.
bool ChargeCpuMemory(size_t bytes);
void DischargeCpuMemory(size_t bytes);

}  // namespace weir

#endif  // WEIR_TENSOR_MEMORY_CHARGE_H_
