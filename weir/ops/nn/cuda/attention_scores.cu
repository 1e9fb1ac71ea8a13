// Attention with a matrix of scores [heads * queries, keys] in memory: a block for each row.
#include "weir/device/cuda/device_code/block.cuh"

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

// As weir/ops/nn/cuda/attention.cc declares it; `data` is a batch's.
struct Mask {
  const void* data;
  int64 batch, head, query, key;  // steps
  float value;                    // of scores that bools hide
};
constexpr float kLowestScore = -20000;  // nn::kLowestScore

__device__ __forceinline__ float Floor(float score) {
  return score < kLowestScore && score != -INFINITY ? kLowestScore : score;
}
// What a mask makes of a score. M is the type of its elements, or void.
template <typename M>
__device__ __forceinline__ float Masked(float score, const Mask& mask, int64 row, int64 queries, int64 key) {
  if constexpr (IsSame<M, void>::value) {
    return score;
  } else {
    const M element = ((const M*)mask.data)[row / queries * mask.head + row % queries * mask.query + key * mask.key];
    if constexpr (IsSame<M, bool>::value)
      return element ? score : Floor(mask.value);
    else
      return Floor(score + (float)element);
  }
}
template <typename M>
__device__ __forceinline__ bool IsHidden(const Mask& mask, int64 row, int64 queries, int64 key) {
  if constexpr (IsSame<M, bool>::value)
    return !((const bool*)mask.data)[row / queries * mask.head + row % queries * mask.query + key * mask.key];
  else
    return false;
}

// Softmax of scaled scores, in place; the logarithm of the denominator goes to `stats`.
template <bool kIsCausal, typename M>
__global__ void AttentionWeights(float* scores, float* stats, int64 rows, int64 queries, int64 keys, float scale,
                                 const Mask mask) {
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    float* x = scores + row * keys;
    const int64 query = row % queries, seen = kIsCausal && query + 1 < keys ? query + 1 : keys;
    float max = -INFINITY;
    for (int64 i = threadIdx.x; i < seen; i += blockDim.x) {
      x[i] = Masked<M>(x[i] * scale, mask, row, queries, i);
      max = fmaxf(max, x[i]);
    }
    max = BlockMax(max);
    float sum = 0;
    for (int64 i = threadIdx.x; i < seen; i += blockDim.x) {
      x[i] = expf(x[i] - max);
      sum += x[i];
    }
    sum = BlockSum(sum);
    const float factor = 1 / sum;
    for (int64 i = threadIdx.x; i < keys; i += blockDim.x) x[i] = i < seen ? x[i] * factor : 0;
    if (threadIdx.x == 0) stats[row] = max + logf(sum);
  }
}

// From scores and products of gradients with values, in place: weights, and the gradients of the scaled scores.
template <bool kIsCausal, typename M>
__global__ void AttentionSlopes(float* scores, float* slopes, const float* stats, const float* delta, int64 rows,
                                int64 queries, int64 keys, float scale, const Mask mask) {
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64 query = row % queries, seen = kIsCausal && query + 1 < keys ? query + 1 : keys;
    for (int64 i = threadIdx.x; i < keys; i += blockDim.x) {
      const int64 at = row * keys + i;
      const float weight = i < seen ? expf(Masked<M>(scores[at] * scale, mask, row, queries, i) - stats[row]) : 0;
      scores[at] = weight;
      const bool counts = i < seen && !IsHidden<M>(mask, row, queries, i);
      slopes[at] = counts ? weight * (slopes[at] - delta[row]) * scale : 0;
    }
  }
}

template <typename From, typename To>
__global__ void ConvertElements(const From* from, To* to, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) to[i] = (To)(float)from[i];
}
