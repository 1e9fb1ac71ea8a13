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

// Elements that may begin anywhere, by whole words of 4 bytes. Of the last word nothing is read that has none of them.
template <typename T, int kPack>
Pack<T, kPack> LoadAnywhere(const T* from) {
  union {
    Pack<T, kPack> pack;
    uint32 words[sizeof(T) * kPack / 4];
  } out;
  constexpr int kWords = sizeof(T) * kPack / 4;
  const uint32* words = (const uint32*)((uint64)from & ~(uint64)3);
  const uint32 shift = (uint32)((uint64)from & 3) * 8;
  uint32 low = words[0];
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    const uint32 high = k + 1 < kWords || shift != 0 ? words[k + 1] : 0;
    out.words[k] = (uint32)((((uint64)high << 32) | low) >> shift);
    low = high;
  }
  return out.pack;
}

// A thread makes kPack elements of a row of `patches`: of a line of the window, which are next to each other in the
// image too. Lines have kLine elements, those behind the window's 0. A block takes a row of the output's places, so
// that nothing is divided by what the compiler does not know. REQUIRES: dilation_x is 1; places are of whole images.
template <typename T, int kHeight, int kWidth, int kIn, int kLine, int kPack>
__global__ void MakeLinePatches(const PatchGeometry g, const T* x, int64 places, T* patches) {
  constexpr uint32 kTaps = kWidth * kIn, kPacks = kLine / kPack;
  const int end = (int)g.width * kIn;
  for (int64 row = blockIdx.x; row < places / g.out_width; row += gridDim.x) {
    const int64 image = row / g.out_height;
    const int top = (int)(row - image * g.out_height) * g.stride_y - g.before_y;
    const T* from = x + image * g.height * end;
    Pack<T, kPack>* to = (Pack<T, kPack>*)patches + row * g.out_width * (kHeight * kPacks);
    for (uint32 i = threadIdx.x; i < (uint32)g.out_width * (kHeight * kPacks); i += blockDim.x) {
      const uint32 first = i % kPacks * kPack;
      const int y = top + (int)(i / kPacks % kHeight) * g.dilation_y;
      const int begin = ((int)(i / (kPacks * kHeight)) * g.stride_x - g.before_x) * kIn + (int)first;
      const bool has_line = y >= 0 && y < (int)g.height;
      Pack<T, kPack> out;
      if (has_line && begin >= 0 && begin + kPack <= end) {
        out = LoadAnywhere<T, kPack>(from + (int64)y * end + begin);
#pragma unroll
        for (uint32 k = 0; k < kPack; ++k) {
          if (first + k >= kTaps) out.v[k] = T(0.0f);
        }
      } else {
#pragma unroll
        for (int k = 0; k < kPack; ++k) {
          const bool is_inside = has_line && begin + k >= 0 && begin + k < end && first + k < kTaps;
          out.v[k] = is_inside ? from[(int64)y * end + begin + k] : T(0.0f);
        }
      }
      to[i] = out;
    }
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
