// Values that the threads of a block put together. The block has a multiple of 32 threads, at most 1024, in one row;
// all of them must call.
#pragma once

#include "weir/device/cuda/device_code/elementwise.cuh"

template <typename C>
C ShuffleDown(C value, int distance) {
  return __shfl_down_sync(0xffffffffu, value, distance);
}

// merge(a, b) of all values, for every thread. The order depends on the block's size alone.
template <typename C, typename Merge>
C BlockMerge(C value, Merge merge) {
  __shared__ C parts[32];
  for (int distance = 16; distance > 0; distance /= 2) value = merge(value, ShuffleDown(value, distance));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int i = 1; i < (int)blockDim.x / 32; ++i) value = merge(value, parts[i]);
  __syncthreads();
  return value;
}

template <typename C>
C BlockSum(C value) {
  return BlockMerge(value, [](C a, C b) { return a + b; });
}
// A NaN is larger than everything.
template <typename C>
C BlockMax(C value) {
  return BlockMerge(value, [](C a, C b) { return Maximum::Do(a, b); });
}
