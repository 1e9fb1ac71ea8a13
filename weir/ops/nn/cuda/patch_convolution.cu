// Windows of images as rows of a matrix, for convolutions as products.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct PatchGeometry {
  int64 height, width, out_height, out_width;
  int32 stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
};

// patches[place][(i * kWidth + j) * kIn + c], rows of kRow elements, those behind the window 0. A thread makes kPack
// elements of a row, for `places` output places of images from x on.
template <typename T, int kHeight, int kWidth, int kIn, int kRow, int kPack>
__global__ void MakePatches(const PatchGeometry g, const T* x, int64 places, T* patches) {
  constexpr int kTaps = kHeight * kWidth * kIn;
  constexpr uint32 kPacks = kRow / kPack;
  const uint32 out_width = (uint32)g.out_width, out_height = (uint32)g.out_height;
  const int height = (int)g.height, width = (int)g.width;
  for (int64 i = GridFirst(); i < places * kPacks; i += GridStride()) {
    const uint32 number = (uint32)i, place = number / kPacks, first = number % kPacks * kPack;
    const uint32 row = place / out_width;
    const int top = (int)(row % out_height) * g.stride_y - g.before_y;
    const int left = (int)(place % out_width) * g.stride_x - g.before_x;
    const T* image = x + (int64)(row / out_height) * height * width * kIn;
    Pack<T, kPack> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const uint32 tap = first + k;
      const int y = top + (int)(tap / (kWidth * kIn)) * g.dilation_y;
      const int at = left + (int)(tap / kIn % kWidth) * g.dilation_x;
      const bool is_inside = tap < kTaps && y >= 0 && y < height && at >= 0 && at < width;
      out.v[k] = is_inside ? image[(int64)(y * width + at) * kIn + tap % kIn] : T(0.0f);
    }
    ((Pack<T, kPack>*)patches)[i] = out;
  }
}
