// Copies of blocks with strides on both sides.
#include "weir/device/cuda/device_code/elements.cuh"

struct alignas(16) Word16 {
  uint64 halves[2];
};

struct Block {
  int32 rank;
  int64 sizes[12], from[12], to[12];
};

template <typename Word>
__global__ void Fill(const Word16 value, Word* to, int64 n) {
  const Word word = *(const Word*)&value;
  for (int64 i = GridFirst(); i < n; i += GridStride()) to[i] = word;
}

// Index is uint32 where every number fits it.
template <typename Word, typename Index>
__global__ void Move(const Block block, const Word* from, Word* to, int64 n) {
  for (Index i = (Index)GridFirst(); i < (Index)n; i += (Index)GridStride()) {
    Index rest = i, source = 0, target = 0;
    for (int d = block.rank - 1; d > 0; --d) {
      const Index size = (Index)block.sizes[d], place = rest % size;
      rest /= size;
      source += place * (Index)block.from[d];
      target += place * (Index)block.to[d];
    }
    source += rest * (Index)block.from[0];
    target += rest * (Index)block.to[0];
    to[target] = from[source];
  }
}

struct Part {
  const void* from;
  int64 begin, count;
};
// Element first + i comes from the last part that begins there or before, if that reaches so far.
template <typename Word>
__global__ void PlaceParts(const Part* parts, int64 count, int64 first, Word* to, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 at = first + i;
    int64 low = 0, high = count - 1;
    while (low < high) {
      const int64 middle = (low + high + 1) / 2;
      if (parts[middle].begin <= at)
        low = middle;
      else
        high = middle - 1;
    }
    const int64 place = at - parts[low].begin;
    if (place < parts[low].count) to[at] = ((const Word*)parts[low].from)[place];
  }
}

// The last dimension is written in order, the one before it is read in order. 32 x 8 threads for a tile of 32 x 32.
template <typename Word>
__global__ void Transpose(const Block block, const Word* from, Word* to, int64 tiles) {
  __shared__ Word tile[32][33];
  const int last = block.rank - 1;
  const int64 columns = block.sizes[last], rows = block.sizes[last - 1];
  const int64 across = (columns + 31) / 32, down = (rows + 31) / 32;
  for (int64 each = blockIdx.x; each < tiles; each += gridDim.x) {
    const int64 column = each % across * 32, row = each / across % down * 32;
    int64 rest = each / across / down, source = 0, target = 0;
    for (int d = last - 2; d >= 0; --d) {
      const int64 place = d > 0 ? rest % block.sizes[d] : rest;
      if (d > 0) rest /= block.sizes[d];
      source += place * block.from[d];
      target += place * block.to[d];
    }
    for (int j = threadIdx.y; j < 32; j += 8) {
      if (row + threadIdx.x < rows && column + j < columns) {
        tile[j][threadIdx.x] =
            from[source + (row + threadIdx.x) * block.from[last - 1] + (column + j) * block.from[last]];
      }
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) {
      if (row + j < rows && column + threadIdx.x < columns) {
        to[target + (row + j) * block.to[last - 1] + (column + threadIdx.x) * block.to[last]] = tile[threadIdx.x][j];
      }
    }
    __syncthreads();
  }
}
