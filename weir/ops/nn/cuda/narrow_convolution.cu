// Convolutions of images with few channels, as color photographs, by tensor cores. The lines of an image that some rows
// of places read lie in shared memory; windows are read from there, a line after the other. What is summed of a line
// of a window comes in chunks of 8 elements, the last one filled up.
#include "weir/device/cuda/device_code/tensor_cores.cuh"

struct NarrowGeometry {
  int64 images, height, width, out_height, out_width, channels;
  int32 stride_y, before_y, before_x;
  int32 rows, row_tiles;  // rows of places that a block takes at a time; tiles of 16 places in each
  int32 pitch, lines;     // elements of a line in shared memory, and how many lines those rows read
};

template <typename T, int kHeight, int kWidth, int kIn>
struct NarrowWindow {
  static constexpr int kTaps = kWidth * kIn, kChunks = (kTaps + 7) / 8, kAllChunks = kHeight * kChunks;
  static constexpr int kPairs = 4 / sizeof(T);                       // elements of a word
  static constexpr int kSteps = (kAllChunks + kPairs - 1) / kPairs;  // products for each sum
  static constexpr int kWordsOfStep = 64;                            // of the filter, for 8 channels
};

// The filter [kHeight, kWidth, kIn, channels] as the products take it: for each `kN` channels, step, 8 channels and
// thread of a warp two words.
template <typename T, int kHeight, int kWidth, int kIn, int kN>
__global__ void ArrangeFilter(const T* filter, int64 channels, int64 words, uint32* out) {
  typedef NarrowWindow<T, kHeight, kWidth, kIn> W;
  for (int64 i = GridFirst(); i < words; i += GridStride()) {
    const int part = (int)(i % 2), lane = (int)(i / 2 % 32), tile = (int)(i / 64 % (kN / 8));
    const int64 rest = i / (64 * (kN / 8));
    const int step = (int)(rest % W::kSteps);
    const int64 channel = rest / W::kSteps * kN + tile * 8 + lane / 4;
    const int chunk = step * W::kPairs + (W::kPairs == 2 ? part : 0);
    union {
      uint32 word;
      T elements[W::kPairs];
    } to;
    for (int k = 0; k < W::kPairs; ++k) {
      const int tap = chunk % W::kChunks * 8 + (W::kPairs == 2 ? lane % 4 * 2 + k : lane % 4 + part * 4);
      const bool is_there = chunk < W::kAllChunks && tap < W::kTaps;
      to.elements[k] = is_there ? filter[(int64)(chunk / W::kChunks * W::kTaps + tap) * channels + channel] : T(0.0f);
    }
    out[i] = Operand<T>(to.word);
  }
}

// A word of elements that begin at any place.
template <typename T, bool kIsAligned>
__device__ __forceinline__ uint32 LoadWord(const T* from) {
  if constexpr (sizeof(T) == 4 || kIsAligned) return *(const uint32*)from;
  const unsigned short* halves = (const unsigned short*)from;
  return (uint32)halves[0] | ((uint32)halves[1] << 16);
}

// Eight warps of 32 places x kN channels. y = convolution + bias, rectified if `relu`.
template <typename T, int kHeight, int kWidth, int kIn, int kStride, int kN>
__global__ void __launch_bounds__(256, sizeof(T) == 2 && kN <= 64 ? 2 : 1)
    ConvolveNarrow(const NarrowGeometry g, const T* x, const uint32* filter, const T* bias, int32 relu, T* y) {
  typedef NarrowWindow<T, kHeight, kWidth, kIn> W;
  constexpr int kTiles = kN / 8, kFilterWords = W::kSteps * kTiles * W::kWordsOfStep;
  constexpr bool kIsAligned = kStride * kIn % W::kPairs == 0;
  extern __shared__ __align__(16) uint32 shared[];
  float* biases = (float*)(shared + kFilterWords);
  T* lines = (T*)(biases + kN);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, in_group = lane % 4;
  const int64 first_channel = (int64)blockIdx.y * kN;
  const uint4* arranged = (const uint4*)(filter + blockIdx.y * (int64)kFilterWords);
  for (int i = threadIdx.x; i < kFilterWords / 4; i += 256) ((uint4*)shared)[i] = arranged[i];
  for (int i = threadIdx.x; i < kN; i += 256) biases[i] = bias ? (float)bias[first_channel + i] : 0;

  // What a thread's word of a line's last chunk keeps: the rest belongs to the next window.
  constexpr int kLast = W::kTaps - (W::kChunks - 1) * 8;
  uint32 kept[2];
  for (int half = 0; half < 2; ++half) {
    const int left = kLast - (W::kPairs == 2 ? 2 * in_group : in_group + 4 * half);
    kept[half] = left >= W::kPairs ? 0xffffffffu : left == 1 ? 0xffffu : 0;
  }

  const int tiles_of_image = (int)((g.out_height + g.rows - 1) / g.rows), places = g.rows * g.row_tiles;
  const int64 line_elements = g.width * kIn;
  for (int64 tile = blockIdx.x; tile < g.images * tiles_of_image; tile += gridDim.x) {
    const int64 image = tile / tiles_of_image;
    const int first_row = (int)(tile - image * tiles_of_image) * g.rows;
    const int top = first_row * g.stride_y - g.before_y, left = g.before_x * kIn;
    __syncthreads();  // the lines before have been read
    for (int line = warp; line < g.lines; line += 8) {
      const bool has_line = top + line >= 0 && top + line < g.height;
      const T* from = x + (image * g.height + top + line) * line_elements - left;
      uint32* to = (uint32*)(lines + line * g.pitch);
#pragma unroll 4
      for (int i = lane; i < g.pitch / W::kPairs; i += 32) {
        union {
          uint32 word;
          T elements[W::kPairs];
        } value;
        for (int k = 0; k < W::kPairs; ++k) {
          const int at = i * W::kPairs + k;
          value.elements[k] = has_line && at >= left && at - left < line_elements ? from[at] : T(0.0f);
        }
        to[i] = Operand<T>(value.word);
      }
    }
    __syncthreads();

    for (int pair = warp; pair * 2 < places; pair += 8) {
      float sums[2][kTiles][4] = {};
      const T* windows[2][2];
      for (int i = 0; i < 2; ++i) {
        const int m = pair * 2 + i < places ? pair * 2 + i : places - 1;
        const int row = m / g.row_tiles, column = m % g.row_tiles * 16 + group;
        windows[i][0] = lines + row * g.stride_y * g.pitch + column * (kStride * kIn) + in_group * W::kPairs;
        windows[i][1] = windows[i][0] + 8 * kStride * kIn;
      }
#pragma unroll
      for (int step = 0; step < W::kSteps; ++step) {
        uint32 a[2][4];
#pragma unroll
        for (int half = 0; half < 2; ++half) {  // of what is summed in a step
          const int chunk = W::kPairs == 2 ? step * 2 + half : step;
          const int at = chunk % W::kChunks * 8 + (W::kPairs == 2 ? 0 : half * 4);
          const bool is_there = chunk < W::kAllChunks, is_last = chunk % W::kChunks == W::kChunks - 1;
          for (int i = 0; i < 2; ++i) {
            for (int k = 0; k < 2; ++k) {
              uint32 word = 0;
              if (is_there) word = LoadWord<T, kIsAligned>(windows[i][k] + chunk / W::kChunks * g.pitch + at);
              if (is_last && kLast < 8) word &= kept[half];
              a[i][half * 2 + k] = word;
            }
          }
        }
#pragma unroll
        for (int n = 0; n < kTiles; ++n) {
          const uint2 b = ((const uint2*)shared)[(step * kTiles + n) * 32 + lane];
          MultiplyAdd<T>(sums[0][n], a[0], b.x, b.y);
          MultiplyAdd<T>(sums[1][n], a[1], b.x, b.y);
        }
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int m = pair * 2 + i, row = first_row + m / g.row_tiles;
#pragma unroll
        for (int k = 0; k < 2; ++k) {  // rows of the tile: `group` and 8 more
          const int column = m % g.row_tiles * 16 + group + 8 * k;
          const bool is_place = m < places && row < g.out_height && column < g.out_width;
          T* to = y + ((image * g.out_height + row) * g.out_width + column) * g.channels + first_channel;
#pragma unroll
          for (int n = 0; n < kTiles; n += 2) {
            float v[2][2];
            for (int j = 0; j < 2; ++j) {
              for (int e = 0; e < 2; ++e) {
                const float sum = sums[i][n + j][2 * k + e] + biases[(n + j) * 8 + in_group * 2 + e];
                v[j][e] = relu && sum < 0 ? 0.0f : sum;
              }
            }
            if constexpr (sizeof(T) == 4) {
              if (is_place) {
                for (int j = 0; j < 2; ++j) StorePair<T>(to + (n + j) * 8 + in_group * 2, v[j][0], v[j][1]);
              }
            } else {
              // Two threads exchange a pair, so that each has four neighbours.
              const uint32 own = PackPair<T>(v[0][0], v[0][1]), other = PackPair<T>(v[1][0], v[1][1]);
              const bool is_odd = in_group % 2 != 0;
              const uint32 got = __shfl_xor_sync(0xffffffff, is_odd ? own : other, 1);
              const uint2 four = is_odd ? make_uint2(got, other) : make_uint2(own, got);
              if (is_place) *(uint2*)(to + (n + is_odd) * 8 + in_group / 2 * 4) = four;
            }
          }
        }
      }
    }
  }
}
