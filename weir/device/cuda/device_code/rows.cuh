// Operations along a row whose elements are in the registers of a block: thread t has those at t, t + kBlock, ...
#pragma once

#include "weir/device/cuda/device_code/block.cuh"

template <typename T, int kRow, int kBlock, int kEach, typename Merge>
wide<T> MergeRow(const T (&x)[kEach], wide<T> start, Merge merge) {
  wide<T> value = start;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (kRow % kBlock == 0 || (int)threadIdx.x + i * kBlock < kRow) value = merge(value, (wide<T>)x[i]);
  }
  return BlockMerge(value, merge);
}

template <typename T, int kRow, int kBlock, int kEach>
void RowSum(const T (&x)[kEach], T& sum) {
  typedef wide<T> C;
  sum = (T)MergeRow<T, kRow, kBlock, kEach>(x, C(0), [](C a, C b) { return a + b; });
}
template <typename T, int kRow, int kBlock, int kEach>
void RowMean(const T (&x)[kEach], T& mean) {
  typedef wide<T> C;
  mean = (T)(MergeRow<T, kRow, kBlock, kEach>(x, C(0), [](C a, C b) { return a + b; }) / (C)kRow);
}
template <typename T, int kRow, int kBlock, int kEach>
void RowMax(const T (&x)[kEach], T& max) {
  typedef wide<T> C;
  max = (T)MergeRow<T, kRow, kBlock, kEach>(x, Lowest<C>(), [](C a, C b) { return Maximum::Do(a, b); });
}
template <typename T, int kRow, int kBlock, int kEach>
void RowSoftmax(const T (&x)[kEach], T (&y)[kEach]) {
  typedef wide<T> C;
  const C max = MergeRow<T, kRow, kBlock, kEach>(x, Lowest<C>(), [](C a, C b) { return Maximum::Do(a, b); });
  C powers[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) powers[i] = exp((C)x[i] - max);
  const C sum = MergeRow<C, kRow, kBlock, kEach>(powers, C(0), [](C a, C b) { return a + b; });
#pragma unroll
  for (int i = 0; i < kEach; ++i) y[i] = (T)(powers[i] / sum);
}
// Of one number for each row.
template <typename T, int kRow, int kBlock, int kEach>
void RowSum(const T& x, T& sum) {
  sum = x;
}
