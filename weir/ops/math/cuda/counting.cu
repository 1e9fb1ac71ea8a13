// Counting values in bins, and finding their buckets.
#include "weir/device/cuda/device_code/elementwise.cuh"

// The bin of each value among those of all rows; -1 for values beyond the last.
template <typename Index>
__global__ void BinsOf(const Index* values, int64 n, int64 width, int64 size, int64* bins, uint32* is_negative) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 value = values[i];
    if (value < 0) *is_negative = 1;
    bins[i] = value >= 0 && value < size ? i / width * size + value : -1;
  }
}

template <typename T>
__global__ void FixedWidthBins(const T* values, int64 n, double low, double step, int64 bins, int32* counts,
                               uint32* is_nan) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const double x = (double)(wide<T>)values[i];
    if (x != x) {
      *is_nan = 1;
      continue;
    }
    double at = (x - low) / step;
    if (at < 0) at = 0;
    if (at > (double)(bins - 1)) at = (double)(bins - 1);
    atomicAdd(&counts[(int64)at], 1);
  }
}

// How many boundaries are not above each value.
template <typename T>
__global__ void Bucketize(const T* values, int64 n, const float* boundaries, int64 count, int32* out) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    int64 low = 0, high = count;
    while (low < high) {
      const int64 middle = (low + high) / 2;
      if (values[i] < boundaries[middle])
        high = middle;
      else
        low = middle + 1;
    }
    out[i] = (int32)low;
  }
}

// The vector product of rows of three.
template <typename T>
__global__ void CrossRows(const T* a, const T* b, T* out, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 row = i - i % 3;
    const int p = (int)((i + 1) % 3), q = (int)((i + 2) % 3);
    out[i] = (T)WrapSub((C)WrapMul((C)a[row + p], (C)b[row + q]), (C)WrapMul((C)a[row + q], (C)b[row + p]));
  }
}
