// What is around a Fourier transform: the part of the input that it covers, and the scale of an inverse.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Sizes {
  int64 from[3], to[3];
};
template <typename T>
__global__ void CutOut(const Sizes s, const T* from, T* to, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 z = i % s.to[2], y = i / s.to[2] % s.to[1], x = i / s.to[2] / s.to[1] % s.to[0];
    const int64 b = i / s.to[2] / s.to[1] / s.to[0];
    to[i] = from[((b * s.from[0] + x) * s.from[1] + y) * s.from[2] + z];
  }
}

template <typename R>
__global__ void ScaleBy(R* values, double factor, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) values[i] = (R)(values[i] * factor);
}
