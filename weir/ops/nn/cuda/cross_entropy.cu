// Cross entropies with labels that are numbers: a block for each row, which it reads once, in pieces of kVector.
#include "weir/device/cuda/device_code/block.cuh"

// Of a difference of logits of type T, with as many digits as their sum needs.
template <typename T>
float ExpOf(float x) {
  return sizeof(T) == 2 ? ApproximateExp2(x * kLog2OfE) : expf(x);
}

template <typename T, typename Label, int kVector>
__global__ void SparseLoss(const T* logits, const Label* labels, float* loss, float* log_sums, int64 rows, int64 n,
                           unsigned* error) {
  typedef Pack<T, kVector> Piece;
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * n;
    const int64 label = labels[row];
    if (label < 0 || label >= n) {
      if (threadIdx.x == 0) *error = 1;
      continue;
    }
    // The largest so far, and the sum of exponentials of what is below it.
    float max = Lowest<float>(), sum = 0;
#pragma unroll 4
    for (int64 i = threadIdx.x; i < n / kVector; i += blockDim.x) {
      const Piece piece = ((const Piece*)x)[i];
      float largest = (float)piece.v[0];
#pragma unroll
      for (int j = 1; j < kVector; ++j) largest = fmaxf(largest, (float)piece.v[j]);
      if (largest > max) {
        sum *= ExpOf<T>(max - largest);
        max = largest;
      }
      // Infinities: all that is minus infinity counts nothing, and infinity gives NaN.
      const float base = max == Lowest<float>() ? 0 : max;
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum += ExpOf<T>((float)piece.v[j] - base);
    }
    const float all_max = BlockMax(max);
    const float total = BlockSum(sum * expf(max - all_max));
    if (threadIdx.x == 0) {
      loss[row] = logf(total) - ((float)x[label] - all_max);
      log_sums[row] = all_max + logf(total);
    }
  }
}

template <typename T, typename U, typename Label, int kVector>
__global__ void SparseLossGradient(const T* logits, const Label* labels, const float* log_sums, const float* factors,
                                   U* gradient, int64 rows, int64 n) {
  typedef Pack<T, kVector> Piece;
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const Piece* x = (const Piece*)(logits + row * n);
    Pack<U, kVector>* to = (Pack<U, kVector>*)(gradient + row * n);
    const int64 label = labels[row];
    const float log_sum = log_sums[row], factor = factors[row];
    for (int64 i = threadIdx.x; i < n / kVector; i += blockDim.x) {
      const Piece piece = x[i];
      Pack<U, kVector> out;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const float weight = ExpOf<T>((float)piece.v[j] - log_sum) - (i * kVector + j == label ? 1.0f : 0.0f);
        out.v[j] = (U)(weight * factor);
      }
      to[i] = out;
    }
  }
}
