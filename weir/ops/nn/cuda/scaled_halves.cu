// Floats as halves, each channel multiplied with a power of two that brings its largest number just below half's limit.
#include "weir/device/cuda/device_code/elementwise.cuh"

// The largest finite absolute values of channels, as bits. A block of kLanes x 256 / kLanes threads takes kPack
// channels a lane. REQUIRES: `largest` is 0; kPack divides the number of channels.
template <int kPack, int kLanes>
__global__ void LargestOfChannels(const float* x, int64 rows, int64 channels, uint32* largest) {
  constexpr int kRows = 256 / kLanes, kColumns = kLanes * kPack;
  __shared__ uint32 shared[kRows][kColumns];
  const int64 first = ((int64)blockIdx.x * kLanes + threadIdx.x) * kPack;
  uint32 found[kPack] = {};
  if (first < channels) {
#pragma unroll 4
    for (int64 row = (int64)blockIdx.y * kRows + threadIdx.y; row < rows; row += (int64)gridDim.y * kRows) {
      const Pack<float, kPack> values = *(const Pack<float, kPack>*)(x + row * channels + first);
      for (int k = 0; k < kPack; ++k) {
        const uint32 bits = __float_as_uint(values.v[k]) & 0x7fffffff;
        if (bits > found[k] && bits < 0x7f800000) found[k] = bits;
      }
    }
  }
  for (int k = 0; k < kPack; ++k) shared[threadIdx.y][threadIdx.x * kPack + k] = found[k];
  __syncthreads();
  for (int column = threadIdx.y * kLanes + threadIdx.x; column < kColumns; column += 256) {
    uint32 most = 0;
    for (int row = 0; row < kRows; ++row) most = shared[row][column] > most ? shared[row][column] : most;
    const int64 channel = (int64)blockIdx.x * kColumns + column;
    if (channel < channels && most > 0) atomicMax(largest + channel, most);
  }
}

// The exponent that brings a number of these bits to 2^14 or a little more; 126 is the largest that a float has.
int ExponentFor(uint32 bits) {
  const int exponent = 14 + 127 - (int)(bits >> 23);
  return bits == 0 ? 0 : exponent > 126 ? 126 : exponent;
}
float PowerOfTwo(int exponent) { return __uint_as_float((uint32)(exponent + 127) << 23); }

// REQUIRES: kPack divides the number of channels.
template <int kPack>
__global__ void ToScaledHalves(const float* x, int64 packs, int64 channels, const uint32* largest, half* out) {
  const uint32 of_row = (uint32)(channels / kPack);
  for (int64 i = GridFirst(); i < packs; i += GridStride()) {
    const Pack<float, kPack> from = ((const Pack<float, kPack>*)x)[i];
    const Pack<uint32, kPack> bits = ((const Pack<uint32, kPack>*)largest)[i % of_row];
    Pack<half, kPack> to;
    for (int k = 0; k < kPack; ++k) to.v[k] = (half)(from.v[k] * PowerOfTwo(ExponentFor(bits.v[k])));
    ((Pack<half, kPack>*)out)[i] = to;
  }
}

// Takes the powers out of products of such numbers, which are [rows, in, out].
__global__ void Unscale(float* products, int64 n, int64 in, int64 out, const uint32* in_largest,
                        const uint32* out_largest) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 column = i % out, row = i / out % in;
    const double a = PowerOfTwo(ExponentFor(in_largest[row])), b = PowerOfTwo(ExponentFor(out_largest[column]));
    products[i] = (float)((double)products[i] / (a * b));
  }
}
