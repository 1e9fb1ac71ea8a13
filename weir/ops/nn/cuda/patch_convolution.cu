// Windows of images as rows of a matrix, for convolutions as products.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct PatchGeometry {
  int64 height, width, out_height, out_width;
  int32 stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
};

// Where the window of a place begins.
struct Window {
  int64 image;
  int top, left;
};
Window WindowOf(const PatchGeometry& g, uint32 place) {
  const uint32 row = place / (uint32)g.out_width;
  return {row / (uint32)g.out_height, (int)(row % (uint32)g.out_height) * g.stride_y - g.before_y,
          (int)(place % (uint32)g.out_width) * g.stride_x - g.before_x};
}

// A thread makes kPack elements of a row of `patches`: of a line of the window, which are next to each other in the
// image too. Lines have kLine elements, those behind the window's 0. REQUIRES: dilation_x is 1.
template <typename T, int kHeight, int kWidth, int kIn, int kLine, int kPack>
__global__ void MakeLinePatches(const PatchGeometry g, const T* x, int64 places, T* patches) {
  constexpr int kTaps = kWidth * kIn;
  constexpr uint32 kPacks = kLine / kPack;
  for (int64 i = GridFirst(); i < places * (kHeight * kPacks); i += GridStride()) {
    const uint32 line = (uint32)i / kPacks;
    const int first = (int)((uint32)i % kPacks) * kPack;
    const Window window = WindowOf(g, line / kHeight);
    const int y = window.top + (int)(line % kHeight) * g.dilation_y, begin = window.left * kIn + first;
    const int end = (int)g.width * kIn;
    const T* from = x + (window.image * g.height + y) * end + begin;
    Pack<T, kPack> out;
    if (y >= 0 && y < (int)g.height && begin >= 0 && begin + kPack <= end && first + kPack <= kTaps) {
#pragma unroll
      for (int k = 0; k < kPack; ++k) out.v[k] = from[k];
    } else {
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        const bool is_inside = y >= 0 && y < (int)g.height && begin + k >= 0 && begin + k < end && first + k < kTaps;
        out.v[k] = is_inside ? from[k] : T(0.0f);
      }
    }
    ((Pack<T, kPack>*)patches)[i] = out;
  }
}

// The same for rows of kRow elements without gaps between lines.
template <typename T, int kHeight, int kWidth, int kIn, int kRow, int kPack>
__global__ void MakePatches(const PatchGeometry g, const T* x, int64 places, T* patches) {
  constexpr int kTaps = kHeight * kWidth * kIn;
  constexpr uint32 kPacks = kRow / kPack;
  for (int64 i = GridFirst(); i < places * kPacks; i += GridStride()) {
    const uint32 first = (uint32)i % kPacks * kPack;
    const Window window = WindowOf(g, (uint32)i / kPacks);
    const T* image = x + window.image * g.height * g.width * kIn;
    Pack<T, kPack> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const uint32 tap = first + k;
      const int y = window.top + (int)(tap / (kWidth * kIn)) * g.dilation_y;
      const int at = window.left + (int)(tap / kIn % kWidth) * g.dilation_x;
      const bool is_inside = tap < kTaps && y >= 0 && y < (int)g.height && at >= 0 && at < (int)g.width;
      out.v[k] = is_inside ? image[((int64)y * g.width + at) * kIn + tap % kIn] : T(0.0f);
    }
    ((Pack<T, kPack>*)patches)[i] = out;
  }
}

// Between filters, whose lines have `taps` elements, and the matrix that such rows are multiplied with, whose lines
// have `line`; the rest is 0. `n` counts elements of the target.
template <typename From, typename To>
__global__ void CopyLines(const From* from, int64 from_line, To* to, int64 to_line, int64 columns, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 row = i / columns, line = row / to_line, at = row % to_line;
    const bool is_there = at < from_line;
    to[i] = is_there ? (To)(float)from[(line * from_line + at) * columns + i % columns] : (To)0.0f;
  }
}
