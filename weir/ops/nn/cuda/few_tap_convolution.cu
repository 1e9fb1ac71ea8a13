// Convolutions whose filters have few elements for each output channel, as the first ones of gray images. The library's
// kernels for tensor cores want more: these are limited by the memory that the larger image takes.
//
// Images have channels last. A thread has a pack of output channels; neighbouring threads have the others of a place.
#include "weir/device/cuda/device_code/block.cuh"

struct FewTapGeometry {
  int64 batch, height, width, out_height, out_width, out_channels;
  int32 stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
};

constexpr int kChannels = 8;  // of a pack

// Calls take(tap, value) for the elements of the window at a place, 0 where it reaches over the edge.
template <typename T, int kHeight, int kWidth, int kIn, typename Take>
void ForWindow(const FewTapGeometry& g, const T* x, int64 image, int out_y, int out_x, Take take) {
  const int first_y = out_y * g.stride_y - g.before_y, first_x = out_x * g.stride_x - g.before_x;
#pragma unroll
  for (int i = 0; i < kHeight; ++i) {
    const int y = first_y + i * g.dilation_y;
    const T* row = x + ((image * g.height + y) * g.width) * kIn;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const int at = first_x + j * g.dilation_x;
      const bool is_inside = y >= 0 && y < g.height && at >= 0 && at < g.width;
#pragma unroll
      for (int c = 0; c < kIn; ++c) {
        take((i * kWidth + j) * kIn + c, is_inside ? (float)row[(int64)at * kIn + c] : 0.0f);
      }
    }
  }
}

// A place of the output by its number.
struct Place {
  int64 image;
  int y, x;
};
Place PlaceOf(const FewTapGeometry& g, int64 number) {
  const int64 row = number / g.out_width;
  return {row / g.out_height, (int)(row % g.out_height), (int)(number % g.out_width)};
}

// y = relu(convolution + addend + bias), what there is of it. The filter is in shared memory.
template <typename T, int kHeight, int kWidth, int kIn>
__global__ void __launch_bounds__(256) FewTapForward(const FewTapGeometry g, const T* x, const T* filter, const T* bias,
                                                     const T* addend, int32 relu, T* y) {
  constexpr int kTaps = kHeight * kWidth * kIn;
  typedef Pack<T, kChannels> P;
  extern __shared__ __align__(16) float weights[];  // [kTaps, out_channels]
  for (int i = threadIdx.x; i < kTaps * (int)g.out_channels; i += blockDim.x) weights[i] = (float)filter[i];
  __syncthreads();
  const int64 packs = g.out_channels / kChannels, places = g.batch * g.out_height * g.out_width;
  for (int64 i = GridFirst(); i < places * packs; i += GridStride()) {
    const int channel = (int)(i % packs) * kChannels;
    const Place place = PlaceOf(g, i / packs);
    float sums[kChannels] = {};
    ForWindow<T, kHeight, kWidth, kIn>(g, x, place.image, place.y, place.x, [&](int tap, float value) {
      const float* row = weights + tap * (int)g.out_channels + channel;
#pragma unroll
      for (int k = 0; k < kChannels; ++k) sums[k] = fmaf(value, row[k], sums[k]);
    });
    P to;
    if (addend) {
      const P other = ((const P*)addend)[i];
      for (int k = 0; k < kChannels; ++k) sums[k] += (float)other.v[k];
    }
    for (int k = 0; k < kChannels; ++k) {
      const float sum = bias ? sums[k] + (float)bias[channel + k] : sums[k];
      to.v[k] = (T)(relu && sum < 0 ? 0.0f : sum);
    }
    ((P*)y)[i] = to;
  }
}

// Sums of a part of the places for kPart taps from kFirst on: parts[block][tap][channel]. Blocks have 256 threads, and
// `packs` divides 32.
template <typename T, int kHeight, int kWidth, int kIn, int kFirst, int kPart>
__global__ void __launch_bounds__(256)
    FewTapFilter(const FewTapGeometry g, const T* x, const T* dy, int32 packs, float* parts) {
  constexpr int kTaps = kHeight * kWidth * kIn;
  typedef Pack<T, kChannels> P;
  __shared__ float shared[8][32 * kChannels];
  const int64 places = g.batch * g.out_height * g.out_width;
  float sums[kPart][kChannels] = {};
  for (int64 i = GridFirst(); i < places * packs; i += GridStride()) {
    const Place place = PlaceOf(g, i / packs);
    const P slopes = ((const P*)dy)[i];
    ForWindow<T, kHeight, kWidth, kIn>(g, x, place.image, place.y, place.x, [&](int tap, float value) {
      if (tap < kFirst || tap >= kFirst + kPart) return;
#pragma unroll
      for (int k = 0; k < kChannels; ++k) {
        sums[tap - kFirst][k] = fmaf(value, (float)slopes.v[k], sums[tap - kFirst][k]);
      }
    });
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, columns = packs * kChannels;
#pragma unroll
  for (int tap = 0; tap < kPart; ++tap) {
#pragma unroll
    for (int k = 0; k < kChannels; ++k) {
      float sum = sums[tap][k];
      for (int distance = 16; distance >= packs; distance /= 2) sum += ShuffleDown(sum, distance);
      if (lane < packs) shared[warp][lane * kChannels + k] = sum;
    }
    __syncthreads();
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
      float sum = 0;
      for (int other = 0; other < 8; ++other) sum += shared[other][column];
      parts[((int64)blockIdx.x * kTaps + kFirst + tap) * columns + column] = sum;
    }
    __syncthreads();
  }
}

// A warp for each element of the filter.
template <typename T>
__global__ void FewTapFinish(const float* parts, int64 count, int64 elements, T* filter) {
  const int64 element = GridFirst() / 32;
  if (element >= elements) return;
  float sum = 0;
  for (int64 i = threadIdx.x % 32; i < count; i += 32) sum += parts[i * elements + element];
  for (int distance = 16; distance > 0; distance /= 2) sum += ShuffleDown(sum, distance);
  if (threadIdx.x % 32 == 0) filter[element] = (T)sum;
}
