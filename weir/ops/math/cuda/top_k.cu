// The largest elements of rows, larger first, then lower index; NaN behind everything.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Item {
  uint64 key;  // in the order of the elements
  uint32 index;
};
inline bool Before(const Item& a, const Item& b) { return a.key != b.key ? a.key > b.key : a.index < b.index; }

template <typename T>
uint64 KeyOf(T x) {
  if constexpr (IsSame<T, double>::value) {
    if (x != x) return 0;
    const uint64 bits = (uint64)__double_as_longlong(x == 0 ? 0.0 : x);
    return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
  } else if constexpr (IsFloating<T>::value) {
    const float value = (float)x;
    if (value != value) return 0;
    const uint32 bits = __float_as_uint(value == 0 ? 0.0f : value);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  } else if constexpr (IsSigned<T>::value) {
    return (uint64)(int64)x ^ 0x8000000000000000ull;
  } else {
    return (uint64)x;
  }
}

constexpr int kChunk = 2048;

// Sorts a block's chunk of items in shared memory.
inline void SortChunk(Item* items) {
  for (int size = 2; size <= kChunk; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < kChunk / 2; i += blockDim.x) {
        const int a = 2 * i - (i & (distance - 1)), b = a + distance;
        const bool forward = (a & size) == 0;
        if (Before(items[b], items[a]) == forward) {
          const Item other = items[a];
          items[a] = items[b];
          items[b] = other;
        }
      }
    }
  }
  __syncthreads();
}

// A block takes a chunk of a row: elements, or what an earlier round left of them (n items a row). It leaves `keep`
// items, or, if it is the last round, writes what they stand for.
template <typename T, typename Index, bool kFirst, bool kLast>
__global__ void TakeTop(const T* x, int64 columns, const Item* from, Item* to, int64 rows, int64 n, int64 chunks,
                        int64 keep, T* values, Index* indices) {
  __shared__ Item items[kChunk];
  for (int64 block = blockIdx.x; block < rows * chunks; block += gridDim.x) {
    const int64 row = block / chunks, begin = block % chunks * kChunk;
    for (int i = threadIdx.x; i < kChunk; i += blockDim.x) {
      const int64 at = begin + i;
      items[i] = {0, 0xffffffffu};
      if (at < n) {
        if constexpr (kFirst)
          items[i] = {KeyOf(x[row * columns + at]), (uint32)at};
        else
          items[i] = from[row * n + at];
      }
    }
    SortChunk(items);
    for (int i = threadIdx.x; i < keep; i += blockDim.x) {
      if constexpr (kLast) {
        values[row * keep + i] = x[row * columns + items[i].index];
        indices[row * keep + i] = (Index)items[i].index;
      } else {
        to[block * keep + i] = items[i];
      }
    }
    __syncthreads();
  }
}

// For many of long rows: items of all rows in memory, `padded` of them a row, a power of two.
template <typename T>
__global__ void MakeItems(const T* x, Item* items, int64 rows, int64 columns, int64 padded) {
  for (int64 i = GridFirst(); i < rows * padded; i += GridStride()) {
    const int64 at = i % padded;
    if (at < columns)
      items[i] = {KeyOf(x[i / padded * columns + at]), (uint32)at};
    else
      items[i] = {0, 0xffffffffu};
  }
}
inline __global__ void SortStep(Item* items, int64 rows, int64 padded, int64 size, int64 distance) {
  const int64 pairs = padded / 2;
  for (int64 j = GridFirst(); j < rows * pairs; j += GridStride()) {
    const int64 i = j % pairs, a = 2 * i - (i & (distance - 1));
    Item* first = items + j / pairs * padded + a;
    Item* second = first + distance;
    if (Before(*second, *first) == ((a & size) == 0)) {
      const Item other = *first;
      *first = *second;
      *second = other;
    }
  }
}
template <typename T, typename Index>
__global__ void WriteItems(const T* x, const Item* items, int64 rows, int64 columns, int64 padded, int64 k, T* values,
                           Index* indices) {
  for (int64 i = GridFirst(); i < rows * k; i += GridStride()) {
    const uint32 index = items[i / k * padded + i % k].index;
    values[i] = x[i / k * columns + index];
    indices[i] = (Index)index;
  }
}
