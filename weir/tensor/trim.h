// Memory that is freed for good.
#ifndef WEIR_TENSOR_TRIM_H_
#define WEIR_TENSOR_TRIM_H_

#include <cstddef>

namespace weir {

// Gives idle blocks of the size that a tensor of `bytes` has back to the system: for what was large and will not come
// again, as blocks are kept otherwise.
void CpuTrim(size_t bytes);

}  // namespace weir

#endif  // WEIR_TENSOR_TRIM_H_
