// Indices of sparse tensors, joined and cut.
#include "weir/device/cuda/device_code/elements.cuh"

// Indices that lie `offset` further along an axis.
__global__ void ShiftIndices(const int64* in, int64 rank, int64 axis, int64 offset, int64* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) out[i] = in[i] + (i % rank == axis ? offset : 0);
}

// Marks the elements in a box; one mark more, 0, ends them. `box` are the begins and then the sizes.
__global__ void MarkInBox(const int64* indices, int64 rank, const int64* box, int32* marks, int64 n) {
  for (int64 i = GridFirst(); i <= n; i += GridStride()) {
    bool is_inside = i < n;
    for (int64 d = 0; is_inside && d < rank; ++d) {
      const int64 at = (int64)((uint64)indices[i * rank + d] - (uint64)box[d]);
      is_inside = at >= 0 && at < box[rank + d];
    }
    marks[i] = is_inside;
  }
}
// `places` are the sums of the marks before each element.
template <typename T>
__global__ void CutBox(const int64* indices, const T* values, const int32* places, int64 rank, const int64* box,
                       int64* out_indices, T* out_values, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 to = places[i];
    if (to == places[i + 1]) continue;
    for (int64 d = 0; d < rank; ++d) out_indices[to * rank + d] = indices[i * rank + d] - box[d];
    out_values[to] = values[i];
  }
}

// The part that each element is in: the first `more` parts have one row more than the others. Bad indices come last.
__global__ void PartKeys(const int64* indices, const int64* shape, int64 rank, int64 axis, int64 rows, int64 more,
                         int64 parts, uint64* keys, int64 n, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    bool is_good = true;
    for (int64 d = 0; d < rank; ++d)
      is_good = is_good && indices[i * rank + d] >= 0 && indices[i * rank + d] < shape[d];
    if (!is_good) *error = 1;
    const int64 at = indices[i * rank + axis], of_longer = more * (rows + 1);
    keys[i] = !is_good         ? (uint64)parts
              : at < of_longer ? (uint64)(at / (rows + 1))
                               : (uint64)(more + (at - of_longer) / rows);
  }
}

inline uint64 HashOf(const int64* index, int64 rank, const int64* start) {
  uint64 hash = 0;
  for (int64 d = 0; d < rank; ++d) {
    hash = (hash ^ ((uint64)index[d] + (start != nullptr ? (uint64)start[d] : 0))) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return hash;
}
__global__ void HashKeys(const int64* indices, int64 rank, const int64* start, uint64* keys, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) keys[i] = HashOf(indices + i * rank, rank, start);
}

// The gradient of each element that a slice kept, zero for the others. `keys` are the sorted hashes of the `count`
// kept indices, moved back by `start`, and `order` is where they were. Of equal indices the last one counts.
template <typename T>
__global__ void SliceGrad(const int64* indices, int64 rank, const int64* start, const int64* kept, const uint64* keys,
                          const int32* order, int64 count, const T* gradients, T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64* index = indices + i * rank;
    const uint64 hash = HashOf(index, rank, nullptr);
    int64 low = 0, high = count;
    while (low < high) {
      const int64 middle = (low + high) / 2;
      if (keys[middle] < hash)
        low = middle + 1;
      else
        high = middle;
    }
    int64 found = -1;
    for (; low < count && keys[low] == hash; ++low) {
      const int64* other = kept + order[low] * rank;
      bool is_equal = true;
      for (int64 d = 0; d < rank; ++d) is_equal = is_equal && (uint64)other[d] + (uint64)start[d] == (uint64)index[d];
      if (is_equal && order[low] > found) found = order[low];
    }
    out[i] = found >= 0 ? gradients[found] : T(0);
  }
}
