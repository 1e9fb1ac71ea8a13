// Dimensions of one layout of images as those of another.
#include "weir/device/cuda/device_code/elements.cuh"

struct DimMap {
  int32 size, to[5];
};
template <typename T>
__global__ void MapDims(const DimMap map, const T* x, T* y, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const T dim = (x[i] % (T)map.size + (T)map.size) % (T)map.size;
    y[i] = (T)map.to[dim];
  }
}
