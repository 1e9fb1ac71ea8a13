// Matrices with their rows and columns swapped.
#pragma once

#include "weir/device/cuda/device_code/elementwise.cuh"

// Memory for a T without a constructor.
template <typename T>
struct alignas(alignof(T)) Slot {
  char bytes[sizeof(T)];
};

// [batch, rows, columns] to [batch, columns, rows], in tiles of 32 x 32 by 32 x 8 threads.
template <typename T, bool kConjugate>
__global__ void SwapRowsAndColumns(const T* from, T* to, int64 batch, int64 rows, int64 columns) {
  __shared__ Slot<T> slots[32][33];
  auto& tile = reinterpret_cast<T(&)[32][33]>(slots);
  const int64 tiles_across = (columns + 31) / 32, tiles_down = (rows + 31) / 32;
  for (int64 i = blockIdx.x; i < batch * tiles_down * tiles_across; i += gridDim.x) {
    const int64 column = i % tiles_across * 32, row = i / tiles_across % tiles_down * 32;
    const int64 start = i / tiles_across / tiles_down * rows * columns;
    for (int y = threadIdx.y; y < 32; y += 8) {
      if (row + y < rows && column + threadIdx.x < columns) {
        tile[y][threadIdx.x] = from[start + (row + y) * columns + column + threadIdx.x];
      }
    }
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8) {
      if (column + y < columns && row + threadIdx.x < rows) {
        to[start + (column + y) * rows + row + threadIdx.x] =
            kConjugate ? Conj::Do(tile[threadIdx.x][y]) : tile[threadIdx.x][y];
      }
    }
    __syncthreads();
  }
}
