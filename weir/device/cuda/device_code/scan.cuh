// Running sums and their like along lines of a tensor. A line longer than a tile is cut: first every tile's total, then
// the totals of the tiles before each, then all elements.
#pragma once
#include "weir/device/cuda/device_code/elementwise.cuh"

constexpr int kScanThreads = 256, kScanItems = 8, kScanTile = kScanThreads * kScanItems;

// Values of one lane for another, whatever their type.
template <typename A>
A ShuffleUp(A value, int distance) {
  constexpr int kWords = (sizeof(A) + 3) / 4;
  uint32 words[kWords] = {};
  memcpy(words, &value, sizeof(A));
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_up_sync(0xffffffffu, words[i], distance);
  memcpy(&value, words, sizeof(A));
  return value;
}

// What the threads before this one have, put together, and in `total` all of them. All kScanThreads must call.
template <typename Op, typename A>
A BlockScan(A value, A* total) {
  __shared__ A warps[kScanThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  A sum = value;
  for (int distance = 1; distance < 32; distance *= 2) {
    const A before = ShuffleUp(sum, distance);
    if (lane >= distance) sum = Op::Merge(before, sum);
  }
  if (lane == 31) warps[warp] = sum;
  A before = ShuffleUp(sum, 1);
  if (lane == 0) before = Op::template Start<A>();
  __syncthreads();
  A all = Op::template Start<A>();
  for (int i = 0; i < kScanThreads / 32; ++i) {
    if (i == warp) before = lane == 0 ? all : Op::Merge(all, before);
    all = Op::Merge(all, warps[i]);
  }
  *total = all;
  __syncthreads();
  return before;
}

struct ScanSum {
  template <typename A>
  static A Start() {
    return A(0);
  }
  template <typename A>
  static A Merge(A a, A b) {
    return WrapAdd(a, b);
  }
};
struct ScanProd {
  template <typename A>
  static A Start() {
    return A(1);
  }
  template <typename A>
  static A Merge(A a, A b) {
    return WrapMul(a, b);
  }
};
// log(exp(a) + exp(b)) without overflow.
struct ScanLogSumExp {
  template <typename A>
  static A Start() {
    return Lowest<A>();
  }
  template <typename A>
  static A Merge(A a, A b) {
    const A low = b < a ? b : a, high = a < b ? b : a;
    if (high == Lowest<A>()) return high;
    return high + log1p(exp(low - high));
  }
};

// Element k of a line, counted from where the scan begins.
struct Lines {
  int64 lines, length;
  int64 inner;    // distance of a line's elements
  int64 tiles;    // of a line
  int64 reverse;  // 1: from the end
  int64 OffsetOf(int64 line, int64 k) const {
    return line / inner * length * inner + line % inner + (reverse ? length - 1 - k : k) * inner;
  }
};

// A thread for each line.
template <typename T, typename Op, bool kExclusive>
__global__ void ScanWholeLines(const Lines lines, const T* in, T* out) {
  typedef wide<T> A;
  for (int64 line = GridFirst(); line < lines.lines; line += GridStride()) {
    A sum = Op::template Start<A>();
    for (int64 k = 0; k < lines.length; ++k) {
      const int64 at = lines.OffsetOf(line, k);
      const A next = Op::Merge(sum, (A)in[at]);
      out[at] = (T)(kExclusive ? sum : next);
      sum = next;
    }
  }
}

template <typename T, typename Op>
__global__ void SumTiles(const Lines lines, const T* in, wide<T>* sums) {
  typedef wide<T> A;
  for (int64 tile = blockIdx.x; tile < lines.lines * lines.tiles; tile += gridDim.x) {
    const int64 line = tile / lines.tiles, first = tile % lines.tiles * kScanTile + threadIdx.x * kScanItems;
    A sum = Op::template Start<A>(), total;
    for (int64 k = first; k < first + kScanItems && k < lines.length; ++k) {
      sum = Op::Merge(sum, (A)in[lines.OffsetOf(line, k)]);
    }
    BlockScan<Op>(sum, &total);
    if (threadIdx.x == 0) sums[tile] = total;
  }
}

// A block for each line: its tiles' totals become what is before each tile.
template <typename A, typename Op>
__global__ void ScanSums(const Lines lines, A* sums) {
  for (int64 line = blockIdx.x; line < lines.lines; line += gridDim.x) {
    A carry = Op::template Start<A>();
    for (int64 begin = 0; begin < lines.tiles; begin += kScanThreads) {
      const int64 k = begin + threadIdx.x;
      const A own = k < lines.tiles ? sums[line * lines.tiles + k] : Op::template Start<A>();
      A total;
      const A before = BlockScan<Op>(own, &total);
      if (k < lines.tiles) sums[line * lines.tiles + k] = Op::Merge(carry, before);
      carry = Op::Merge(carry, total);
    }
  }
}

// `sums` is null where a line is one tile.
template <typename T, typename Op, bool kExclusive>
__global__ void ScanTiles(const Lines lines, const T* in, const wide<T>* sums, T* out) {
  typedef wide<T> A;
  for (int64 tile = blockIdx.x; tile < lines.lines * lines.tiles; tile += gridDim.x) {
    const int64 line = tile / lines.tiles, first = tile % lines.tiles * kScanTile + threadIdx.x * kScanItems;
    A items[kScanItems];
    A sum = Op::template Start<A>(), total;
    for (int i = 0; i < kScanItems; ++i) {
      if (first + i >= lines.length) break;
      items[i] = (A)in[lines.OffsetOf(line, first + i)];
      sum = Op::Merge(sum, items[i]);
    }
    A before = BlockScan<Op>(sum, &total);
    if (sums != nullptr) before = Op::Merge(sums[tile], before);
    for (int i = 0; i < kScanItems; ++i) {
      if (first + i >= lines.length) break;
      const A next = Op::Merge(before, items[i]);
      out[lines.OffsetOf(line, first + i)] = (T)(kExclusive ? before : next);
      before = next;
    }
  }
}
