// Elements that stay, and what equals what.
#include "weir/device/cuda/device_code/elementwise.cuh"

// Marks what is not zero; one mark more, 0, ends them.
template <typename T>
__global__ void MarkNonZero(const T* x, int64 n, int32* marks) {
  for (int64 i = GridFirst(); i <= n; i += GridStride()) marks[i] = i < n && (wide<T>)x[i] != wide<T>(0);
}

struct Sizes {
  int32 rank;
  int64 dims[16];
};
// The coordinates of marked elements. `places` are the sums of the marks before each.
inline __global__ void WriteCoordinates(const int32* places, int64 n, const Sizes sizes, int64* out) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (places[i] == places[i + 1]) continue;
    int64 rest = i;
    int64* row = out + (int64)places[i] * sizes.rank;
    for (int d = sizes.rank - 1; d >= 0; --d) {
      row[d] = rest % sizes.dims[d];
      rest /= sizes.dims[d];
    }
  }
}

// Equal values have equal keys, and only those. Each NaN is by itself, behind all others.
constexpr uint64 kNanKey = ~0ull;
template <typename T>
__global__ void ValueKeys(const T* x, int64 n, uint64* keys) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if constexpr (IsSame<T, double>::value) {
      keys[i] = x[i] != x[i] ? kNanKey : (uint64)__double_as_longlong(x[i] == 0 ? 0.0 : x[i]);
    } else if constexpr (IsFloating<T>::value) {
      const float value = (float)x[i];
      keys[i] = value != value ? kNanKey : (uint64)__float_as_uint(value == 0 ? 0.0f : value);
    } else {
      keys[i] = (uint64)x[i];
    }
  }
}
// For sorted keys: marks the first of each run of equals.
template <bool kHasNan>
__global__ void MarkRuns(const uint64* keys, int64 n, int32* marks) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    marks[i] = i == 0 || keys[i] != keys[i - 1] || (kHasNan && keys[i] == kNanKey);
  }
}
// `runs` counts the marks up to each key. Sorting keeps equals in order, so a run's first is the first of all.
inline __global__ void FirstsOfRuns(const int32* runs, const int32* positions, int64 n, int32* firsts) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (i == 0 || runs[i] != runs[i - 1]) firsts[runs[i] - 1] = positions[i];
  }
}
// For each element the first that equals it, and a mark for those that are the first; one mark more, 0, ends them.
inline __global__ void FirstEquals(const int32* runs, const int32* positions, const int32* firsts, int64 n,
                                   int32* first_of, int32* marks) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int32 first = firsts[runs[i] - 1], at = positions[i];
    first_of[at] = first;
    marks[at] = first == at;
    if (i == 0) marks[n] = 0;
  }
}
// `numbers` are the sums of the marks before each element.
template <typename T, typename Index>
__global__ void WriteUnique(const T* x, const int32* first_of, const int32* numbers, int64 n, T* unique, Index* index,
                            Index* counts) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int32 number = numbers[first_of[i]];
    if (first_of[i] == i) unique[number] = x[i];
    index[i] = (Index)number;
    if (counts != nullptr) {
      if constexpr (sizeof(Index) == 8)
        atomicAdd((uint64*)&counts[number], 1ull);
      else
        atomicAdd((uint32*)&counts[number], 1u);
    }
  }
}

// Bad partitions come last.
inline __global__ void PartitionKeys(const int32* partitions, int64 n, int64 count, uint64* keys, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const bool is_good = partitions[i] >= 0 && partitions[i] < count;
    if (!is_good) *error = 1;
    keys[i] = is_good ? (uint64)partitions[i] : (uint64)count;
  }
}
