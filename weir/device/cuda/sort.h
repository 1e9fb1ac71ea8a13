// Sorting on a GPU.
#ifndef WEIR_DEVICE_CUDA_SORT_H_
#define WEIR_DEVICE_CUDA_SORT_H_

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

struct SortedKeys {
  Tensor keys;       // uint64, ascending
  Tensor positions;  // int32: where each of them was
};

// Sorts a vector of uint64 keys, of which only the lowest `bits` are not zero. Equal keys keep their order. May write
// over `keys`.
StatusOr<SortedKeys> SortKeys(KernelContext& ctx, Tensor keys, int bits = 64);

// Bits that numbers in [0, limit] need.
int BitsFor(int64_t limit);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_SORT_H_
