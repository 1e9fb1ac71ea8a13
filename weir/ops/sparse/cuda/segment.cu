// Gradients of the sparse segment sums.
#include "weir/device/cuda/device_code/elementwise.cuh"

// How many rows each segment has. A bad index or segment raises the error.
template <typename Index, typename Segment>
__global__ void CountRows(const Index* indices, const Segment* segments, int64 n, int64 index_limit,
                          int64 segment_limit, int32* counts, uint32* bad_index, uint32* bad_segment) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (indices[i] < 0 || indices[i] >= index_limit) *bad_index = 1;
    if (segments[i] < 0 || segments[i] >= segment_limit)
      *bad_segment = 1;
    else
      atomicAdd(&counts[segments[i]], 1);
  }
}

enum { kSum, kMean, kSqrtN };

// out[i] = grad[segments[i]], scaled by the segment's number of rows.
template <typename T, typename Segment, int kCombiner>
__global__ void ScaleRows(const T* grad, const Segment* segments, const int32* counts, int64 n, int64 segment_limit,
                          int64 inner, wide<T>* out) {
  typedef wide<T> A;
  for (int64 i = GridFirst(); i < n * inner; i += GridStride()) {
    const int64 segment = segments[i / inner];
    if (segment < 0 || segment >= segment_limit) {
      out[i] = A(0);
      continue;
    }
    const double count = counts[segment];
    const A scale = (A)(kCombiner == kSum ? 1.0 : kCombiner == kMean ? 1 / count : 1 / sqrt(count));
    out[i] = (A)grad[segment * inner + i % inner] * scale;
  }
}

template <typename Index>
__global__ void IndexKeys(const Index* indices, int64 n, int64 limit, uint64* keys) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    keys[i] = indices[i] >= 0 && indices[i] < limit ? (uint64)indices[i] : (uint64)limit;
  }
}
// Marks the first of each run of equal keys; one mark more, 0, ends them.
inline __global__ void MarkFirsts(const uint64* keys, int64 n, int32* marks) {
  for (int64 i = GridFirst(); i <= n; i += GridStride()) marks[i] = i < n && (i == 0 || keys[i] != keys[i - 1]);
}
// `numbers` are the sums of the marks before each key.
template <typename Index>
__global__ void WriteUnique(const uint64* keys, const int32* numbers, int64 n, int64 count, Index* unique,
                            int64* begins) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (i == 0) begins[count] = n;
    if (i > 0 && keys[i] == keys[i - 1]) continue;
    unique[numbers[i]] = (Index)keys[i];
    begins[numbers[i]] = i;
  }
}
