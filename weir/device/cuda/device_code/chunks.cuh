// The arithmetic of collectives. half and bfloat16 are computed in float; sums and products of integers wrap around.
#include "weir/device/cuda/device_code/elements.cuh"

template <typename T>
struct Wrapping {
  typedef wide<T> type;
};
template <>
struct Wrapping<int32> {
  typedef uint32 type;
};
template <>
struct Wrapping<int64> {
  typedef uint64 type;
};

enum { kAdd, kMul, kMin, kMax };

template <typename T, int op>
__global__ void Merge(const T* own, const T* received, T* out, int64 n) {
  typedef wide<T> W;
  typedef typename Wrapping<T>::type U;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const W a = (W)own[i], b = (W)received[i];
    W result;
    if (op == kAdd) result = (W)((U)a + (U)b);
    if (op == kMul) result = (W)((U)a * (U)b);
    if (op == kMin) result = b < a || b != b ? b : a;  // a NaN of either side stays
    if (op == kMax) result = b > a || b != b ? b : a;
    out[i] = (T)result;
  }
}

template <typename T>
__global__ void Divide(T* values, int divisor, int64 n) {
  const wide<T> by = (wide<T>)(T)(wide<T>)divisor;
  for (int64 i = GridFirst(); i < n; i += GridStride()) values[i] = (T)((wide<T>)values[i] / by);
}
