// Attention with a matrix of scores [heads * queries, keys] in memory: a block for each row.
#include "weir/device/cuda/device_code/block.cuh"

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

// Softmax of scaled scores, in place; the logarithm of the denominator goes to `stats`.
template <bool kIsCausal>
__global__ void AttentionWeights(float* scores, float* stats, int64 rows, int64 queries, int64 keys, float scale) {
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    float* x = scores + row * keys;
    const int64 query = row % queries, seen = kIsCausal && query + 1 < keys ? query + 1 : keys;
    float max = -INFINITY;
    for (int64 i = threadIdx.x; i < seen; i += blockDim.x) max = fmaxf(max, x[i]);
    max = BlockMax(max) * scale;
    float sum = 0;
    for (int64 i = threadIdx.x; i < seen; i += blockDim.x) {
      x[i] = expf(x[i] * scale - max);
      sum += x[i];
    }
    sum = BlockSum(sum);
    const float factor = 1 / sum;
    for (int64 i = threadIdx.x; i < keys; i += blockDim.x) x[i] = i < seen ? x[i] * factor : 0;
    if (threadIdx.x == 0) stats[row] = max + logf(sum);
  }
}

// From scores and products of gradients with values, in place: weights, and the gradients of the scaled scores.
template <bool kIsCausal>
__global__ void AttentionSlopes(float* scores, float* slopes, const float* stats, const float* delta, int64 rows,
                                int64 queries, int64 keys, float scale) {
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64 query = row % queries, seen = kIsCausal && query + 1 < keys ? query + 1 : keys;
    for (int64 i = threadIdx.x; i < keys; i += blockDim.x) {
      const int64 at = row * keys + i;
      const float weight = i < seen ? expf(scores[at] * scale - stats[row]) : 0;
      scores[at] = weight;
      slopes[at] = i < seen ? weight * (slopes[at] - delta[row]) * scale : 0;
    }
  }
}

template <typename From, typename To>
__global__ void ConvertElements(const From* from, To* to, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) to[i] = (To)(float)from[i];
}
