// Where the extremes along an axis are: the first of equals, and a NaN never wins.
#include "weir/device/cuda/device_code/elementwise.cuh"

template <typename C, bool kMax>
bool IsBetter(C a, int64 a_at, C b, int64 b_at) {
  if (a != a || b != b) return a == a || (b != b && a_at < b_at);
  if (a == b) return a_at < b_at;
  return kMax ? a > b : a < b;
}

// A thread for each result.
template <typename T, typename Index, bool kMax>
__global__ void ArgExtreme(const T* x, int64 outer, int64 n, int64 inner, Index* out) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < outer * inner; i += GridStride()) {
    const T* from = x + i / inner * n * inner + i % inner;
    C best = (C)from[0];
    int64 best_at = 0;
    for (int64 k = 1; k < n; ++k) {
      const C value = (C)from[k * inner];
      if (IsBetter<C, kMax>(value, k, best, best_at)) {
        best = value;
        best_at = k;
      }
    }
    out[i] = (Index)best_at;
  }
}

// A block of 256 threads for each row.
template <typename T, typename Index, bool kMax>
__global__ void ArgExtremeOfRow(const T* x, int64 rows, int64 n, Index* out) {
  typedef wide<T> C;
  __shared__ C values[256];
  __shared__ int64 places[256];
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    C best = (C)x[row * n];
    int64 best_at = 0;
    for (int64 k = threadIdx.x; k < n; k += blockDim.x) {
      const C value = (C)x[row * n + k];
      if (IsBetter<C, kMax>(value, k, best, best_at)) {
        best = value;
        best_at = k;
      }
    }
    values[threadIdx.x] = best;
    places[threadIdx.x] = best_at;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
      if (threadIdx.x < half && IsBetter<C, kMax>(values[threadIdx.x + half], places[threadIdx.x + half],
                                                  values[threadIdx.x], places[threadIdx.x])) {
        values[threadIdx.x] = values[threadIdx.x + half];
        places[threadIdx.x] = places[threadIdx.x + half];
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) out[row] = (Index)places[0];
    __syncthreads();
  }
}
