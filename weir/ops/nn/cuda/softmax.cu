// Softmax and what is made of it: a block for each row.
#include "weir/device/cuda/device_code/block.cuh"

// The largest of a row, and the sum of exponentials of what is below it.
template <typename C>
struct RowSum {
  C max, sum;
};
// `step` is 0 where one element stands for the whole row.
template <typename T>
RowSum<wide<T>> SumRow(const T* x, int64 n, int64 step) {
  typedef wide<T> C;
  C max = Lowest<C>();
  for (int64 i = threadIdx.x; i < n; i += blockDim.x) max = Maximum::Do((C)x[i * step], max);
  max = BlockMax(max);
  C sum = C(0);
  for (int64 i = threadIdx.x; i < n; i += blockDim.x) sum = sum + exp((C)x[i * step] - max);
  return {max, BlockSum(sum)};
}

template <typename T, bool kLog>
__global__ void Softmax(const T* x, T* y, int64 rows, int64 n) {
  typedef wide<T> C;
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = x + row * n;
    T* to = y + row * n;
    const RowSum<C> total = SumRow(from, n, 1);
    const C scale = kLog ? log(total.sum) : C(1) / total.sum;
    for (int64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C shifted = (C)from[i] - total.max;
      to[i] = (T)(kLog ? shifted - scale : exp(shifted) * scale);
    }
  }
}

// Logits and labels broadcast along rows and columns whose step is 0.
struct Steps {
  int64 logit_row, logit_column, label_row, label_column;
};
template <typename T>
__global__ void CrossEntropy(const T* logits, const T* labels, T* loss, T* gradient, const Steps steps, int64 rows,
                             int64 n) {
  typedef wide<T> C;
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * steps.logit_row;
    const T* label = labels + row * steps.label_row;
    const RowSum<C> total = SumRow(x, n, steps.logit_column);
    const C log_sum = log(total.sum);
    C part = C(0);
    for (int64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C shifted = (C)x[i * steps.logit_column] - total.max, p = (C)label[i * steps.label_column];
      if (p != C(0)) part = part + p * (log_sum - shifted);  // 0 times infinity is no loss
      gradient[row * n + i] = (T)(exp(shifted) / total.sum - p);
    }
    part = BlockSum(part);
    if (threadIdx.x == 0) loss[row] = (T)part;
  }
}

template <typename T, typename Label>
__global__ void SparseCrossEntropy(const T* logits, const Label* labels, T* loss, T* gradient, int64 rows, int64 n,
                                   unsigned* error) {
  typedef wide<T> C;
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * n;
    const int64 label = labels[row];
    if (label < 0 || label >= n) {
      if (threadIdx.x == 0) *error = 1;
      continue;
    }
    const RowSum<C> total = SumRow(x, n, 1);
    for (int64 i = threadIdx.x; i < n; i += blockDim.x) {
      gradient[row * n + i] = (T)(exp((C)x[i] - total.max) / total.sum - (i == label ? C(1) : C(0)));
    }
    if (threadIdx.x == 0) loss[row] = (T)(log(total.sum) - ((C)x[label] - total.max));
  }
}

// Whether fewer than k predictions are larger than the target's. A target out of range, or one among predictions that
// are not finite, is not.
template <typename Target>
__global__ void InTopK(const float* predictions, const Target* targets, bool* out, int64 rows, int64 n,
                       const Target* k) {
  for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* x = predictions + row * n;
    const int64 target = targets[row];
    const bool has_target = target >= 0 && target < n;
    const float value = has_target ? x[target] : 0;
    int64 larger = 0, strange = has_target && value - value == 0 ? 0 : 1;
    for (int64 i = threadIdx.x; has_target && i < n; i += blockDim.x) {
      larger += x[i] > value;
      strange += !(x[i] - x[i] == 0);
    }
    larger = BlockSum(larger);
    strange = BlockSum(strange);
    if (threadIdx.x == 0) out[row] = strange == 0 && larger < *k;
  }
}

// Halves of sums of squares: one number for each block, then one for all of them.
template <typename T, bool kLast>
__global__ void SumOfSquares(const T* x, const wide<T>* parts, wide<T>* sums, T* out, int64 n) {
  typedef wide<T> C;
  C sum = C(0);
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const C value = kLast ? parts[i] : (C)x[i];
    sum = sum + (kLast ? value : value * value);
  }
  sum = BlockSum(sum);
  if (threadIdx.x != 0) return;
  if (kLast)
    *out = (T)(sum * C(0.5f));
  else
    sums[blockIdx.x] = sum;
}
