// Rows of sparse tensors: a default where a row has nothing, and the order of elements.
#include "weir/device/cuda/device_code/elements.cuh"

// The row of each element; bad rows come last.
__global__ void RowKeys(const int64* indices, int64 n, int64 rank, int64 rows, uint64* keys, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 row = indices[i * rank];
    const bool is_good = row >= 0 && row < rows;
    if (!is_good) *error = 1;
    keys[i] = is_good ? (uint64)row : (uint64)rows;
  }
}

// `begins` says where the elements of each row begin among those sorted by row. One mark more, 0, ends the marks.
__global__ void MarkEmptyRows(const int64* begins, int64 rows, bool* is_empty, int64* marks) {
  for (int64 row = GridFirst(); row <= rows; row += GridStride()) {
    const bool empty = row < rows && begins[row] == begins[row + 1];
    marks[row] = empty;
    if (row < rows) is_empty[row] = empty;
  }
}

// `empty_before` are the sums of the marks before each row.
template <typename T>
__global__ void PlaceElements(const uint64* rows_of, const int32* order, const int64* empty_before,
                              const int64* indices, const T* values, int64 rank, int64 rows, int64* out_indices,
                              T* out_values, int64* reverse, int64 n) {
  for (int64 k = GridFirst(); k < n; k += GridStride()) {
    if (rows_of[k] >= (uint64)rows) continue;
    const int64 from = order[k], to = k + empty_before[rows_of[k]];
    for (int64 d = 0; d < rank; ++d) out_indices[to * rank + d] = indices[from * rank + d];
    out_values[to] = values[from];
    reverse[from] = to;
  }
}
template <typename T>
__global__ void PlaceDefaults(const int64* begins, const bool* is_empty, const int64* empty_before, const T* fallback,
                              int64 rank, int64* out_indices, T* out_values, int64 rows) {
  for (int64 row = GridFirst(); row < rows; row += GridStride()) {
    if (!is_empty[row]) continue;
    const int64 to = begins[row] + empty_before[row];
    for (int64 d = 0; d < rank; ++d) out_indices[to * rank + d] = d == 0 ? row : 0;
    out_values[to] = *fallback;
  }
}

__global__ void MarkUsed(const int64* reverse, int64 n, int64 limit, uint8* used, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (reverse[i] >= 0 && reverse[i] < limit)
      used[reverse[i]] = 1;
    else
      *error = 1;
  }
}
template <typename T>
__global__ void KeepUnused(const T* gradients, const uint8* used, T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) out[i] = used[i] ? T(0) : gradients[i];
}

// Whether each row of indices comes after the one before.
template <typename Index>
__global__ void CheckOrder(const Index* indices, int64 rank, int64 n, uint32* error) {
  for (int64 i = GridFirst() + 1; i < n; i += GridStride()) {
    int64 d = 0;
    while (d < rank && indices[i * rank + d] == indices[(i - 1) * rank + d]) ++d;
    if (d == rank || indices[i * rank + d] < indices[(i - 1) * rank + d]) *error = 1;
  }
}

// The place of each element in the dense tensor, whose shape the GPU has.
__global__ void PlaceKeys(const int64* indices, const int64* shape, int64 rank, uint64* keys, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    uint64 place = 0;
    for (int64 d = 0; d < rank; ++d) place = place * (uint64)shape[d] + (uint64)indices[i * rank + d];
    keys[i] = place;
  }
}
