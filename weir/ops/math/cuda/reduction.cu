// Reductions over some axes: the kept dimensions number the results, the reduced ones what goes into each.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct Dims {
  int32 rank;
  int64 sizes[8];  // outermost first
  int64 strides[8];
  int64 OffsetOf(int64 i) const {
    int64 offset = 0;
    for (int d = rank - 1; d > 0; --d) {
      offset += i % sizes[d] * strides[d];
      i /= sizes[d];
    }
    return rank > 0 ? offset + i * strides[0] : 0;
  }
};
struct Reduction {
  Dims kept, reduced;
  int64 results;  // products of the sizes
  int64 count;
  int64 piece;  // of `count` that one block takes; the grid's y says which
};

// 16-bit floats are summed in float; integers as they are, so that they wrap around.
template <typename T>
struct Accumulator {
  typedef wide<T> type;
};
template <typename T>
struct Sum {
  typedef typename Accumulator<T>::type A;
  static A Start() { return A(0); }
  static A Take(T x) { return (A)x; }
  static A Merge(A a, A b) { return WrapAdd(a, b); }
  static T Finish(A a, int64) { return (T)a; }
};
template <typename T>
struct Mean : Sum<T> {
  typedef typename Accumulator<T>::type A;
  static T Finish(A a, int64 count) {
    if constexpr (IsComplex<T>::value)
      return count == 0 ? T(0) : T(a.real / count, a.imag / count);
    else if constexpr (IsFloating<T>::value)
      return (T)(a / (A)count);
    else
      return count == 0 ? T(0) : (T)(a / (A)count);
  }
};
template <typename T>
struct Prod {
  typedef typename Accumulator<T>::type A;
  static A Start() { return A(1); }
  static A Take(T x) { return (A)x; }
  static A Merge(A a, A b) { return WrapMul(a, b); }
  static T Finish(A a, int64) { return (T)a; }
};
template <typename T>
struct Max {
  typedef wide<T> A;
  static A Start() { return Lowest<A>(); }
  static A Take(T x) { return (A)x; }
  static A Merge(A a, A b) { return Maximum::Do(a, b); }
  static T Finish(A a, int64) { return (T)a; }
};
template <typename T>
struct Min {
  typedef wide<T> A;
  static A Start() { return Highest<A>(); }
  static A Take(T x) { return (A)x; }
  static A Merge(A a, A b) { return Minimum::Do(a, b); }
  static T Finish(A a, int64) { return (T)a; }
};
// Of what is not NaN, no more than the greatest finite number; that one if there is nothing.
template <typename T>
struct LeastNumber {
  typedef wide<T> A;
  static A Start() { return Greatest<A>(); }
  static A Take(T x) { return Merge(Start(), (A)x); }
  static A Merge(A a, A b) { return b < a ? b : a; }
  static T Finish(A a, int64) { return (T)a; }
};
template <typename T>
struct GreatestNumber {
  typedef wide<T> A;
  static A Start() { return -Greatest<A>(); }
  static A Take(T x) { return Merge(Start(), (A)x); }
  static A Merge(A a, A b) { return a < b ? b : a; }
  static T Finish(A a, int64) { return (T)a; }
};
template <typename T>
struct All {
  typedef bool A;
  static A Start() { return true; }
  static A Take(T x) { return x; }
  static A Merge(A a, A b) { return a && b; }
  static T Finish(A a, int64) { return a; }
};
template <typename T>
struct Any {
  typedef bool A;
  static A Start() { return false; }
  static A Take(T x) { return x; }
  static A Merge(A a, A b) { return a || b; }
  static T Finish(A a, int64) { return a; }
};
template <typename T>
struct EuclideanNorm : Sum<T> {
  typedef typename Accumulator<T>::type A;
  static A Take(T x) { return WrapMul((A)x, Conj::Do((A)x)); }
  static T Finish(A a, int64) {
    if constexpr (IsComplex<T>::value)
      return T(ComplexSqrt(a));
    else if constexpr (IsFloating<T>::value)
      return (T)sqrt(a);
    else
      return (T)sqrt((double)a);
  }
};

// What goes from the first pass to the second, and what a pass reads and writes.
template <typename T, typename Op, bool kFromPartial>
struct Reader {
  typedef T type;
  static typename Op::A Take(T x) { return Op::Take(x); }
};
template <typename T, typename Op>
struct Reader<T, Op, true> {
  typedef typename Op::A type;
  static typename Op::A Take(typename Op::A x) { return x; }
};
template <typename T, typename Op, bool kToPartial>
struct Writer {
  typedef T type;
  static T Finish(typename Op::A x, int64 count) { return Op::Finish(x, count); }
};
template <typename T, typename Op>
struct Writer<T, Op, true> {
  typedef typename Op::A type;
  static typename Op::A Finish(typename Op::A x, int64) { return x; }
};

// A block for a result: for runs of elements that lie one behind the other. `total` is what a mean divides by. With
// kPack above 1 a run is all there is in a row, and whole packs.
template <typename T, typename Op, bool kFromPartial, bool kToPartial, int kPack>
__global__ void ReduceRuns(const Reduction r, const typename Reader<T, Op, kFromPartial>::type* in,
                           typename Writer<T, Op, kToPartial>::type* out, int64 total) {
  typedef typename Op::A A;
  __shared__ A partial[256];
  const int64 begin = blockIdx.y * r.piece, end = begin + r.piece < r.count ? begin + r.piece : r.count;
  for (int64 result = blockIdx.x; result < r.results; result += gridDim.x) {
    const typename Reader<T, Op, kFromPartial>::type* from = in + r.kept.OffsetOf(result);
    A sum = Op::Start();
    if constexpr (kPack > 1) {
#pragma unroll 4
      for (int64 i = begin + threadIdx.x * kPack; i < end; i += blockDim.x * kPack) {
        const Pack<typename Reader<T, Op, kFromPartial>::type, kPack> loaded =
            *(const Pack<typename Reader<T, Op, kFromPartial>::type, kPack>*)(from + i);
#pragma unroll
        for (int k = 0; k < kPack; ++k) sum = Op::Merge(sum, Reader<T, Op, kFromPartial>::Take(loaded.v[k]));
      }
    } else {
      for (int64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        sum = Op::Merge(sum, Reader<T, Op, kFromPartial>::Take(from[r.reduced.OffsetOf(i)]));
      }
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) partial[threadIdx.x] = Op::Merge(partial[threadIdx.x], partial[threadIdx.x + half]);
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      out[blockIdx.y * r.results + result] = Writer<T, Op, kToPartial>::Finish(partial[0], total);
    }
    __syncthreads();
  }
}

// A thread for a result, for results that lie one behind the other: 32 results by 8 shares of each.
template <typename T, typename Op, bool kFromPartial, bool kToPartial>
__global__ void ReduceRows(const Reduction r, const typename Reader<T, Op, kFromPartial>::type* in,
                           typename Writer<T, Op, kToPartial>::type* out, int64 total) {
  typedef typename Op::A A;
  __shared__ A partial[8][33];
  const int64 begin = blockIdx.y * r.piece, end = begin + r.piece < r.count ? begin + r.piece : r.count;
  for (int64 first = (int64)blockIdx.x * 32; first < r.results; first += (int64)gridDim.x * 32) {
    const int64 result = first + threadIdx.x;
    A sum = Op::Start();
    if (result < r.results) {
      const typename Reader<T, Op, kFromPartial>::type* from = in + r.kept.OffsetOf(result);
      for (int64 i = begin + threadIdx.y; i < end; i += 8) {
        sum = Op::Merge(sum, Reader<T, Op, kFromPartial>::Take(from[r.reduced.OffsetOf(i)]));
      }
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && result < r.results) {
      for (int share = 1; share < 8; ++share) sum = Op::Merge(sum, partial[share][threadIdx.x]);
      out[blockIdx.y * r.results + result] = Writer<T, Op, kToPartial>::Finish(sum, total);
    }
    __syncthreads();
  }
}

// The columns of a matrix, whose rows lie one behind the other: a thread has kPack neighbouring columns and takes the
// rows threadIdx.y, threadIdx.y + blockDim.y, ... of the block's piece. REQUIRES: blockDim.y is a power of two.
template <typename T, typename Op, bool kFromPartial, bool kToPartial, int kPack>
__global__ void ReduceColumns(int64 rows, int64 columns, int64 piece,
                              const typename Reader<T, Op, kFromPartial>::type* in,
                              typename Writer<T, Op, kToPartial>::type* out, int64 total) {
  typedef typename Op::A A;
  typedef Reader<T, Op, kFromPartial> From;
  typedef Pack<typename From::type, kPack> Loaded;
  constexpr int kAtATime = 4;  // loads under way
  __shared__ A partial[kPack][256];
  const int64 column = ((int64)blockIdx.x * blockDim.x + threadIdx.x) * kPack, stride = columns / kPack;
  const int64 begin = blockIdx.y * piece, end = begin + piece < rows ? begin + piece : rows;
  A sums[kPack];
#pragma unroll
  for (int k = 0; k < kPack; ++k) sums[k] = Op::Start();
  if (column < columns) {
    const Loaded* from = (const Loaded*)(in + column);
    int64 row = begin + threadIdx.y;
    for (; row + (kAtATime - 1) * (int64)blockDim.y < end; row += kAtATime * (int64)blockDim.y) {
      Loaded loaded[kAtATime];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) loaded[i] = from[(row + i * (int64)blockDim.y) * stride];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) {
#pragma unroll
        for (int k = 0; k < kPack; ++k) sums[k] = Op::Merge(sums[k], From::Take(loaded[i].v[k]));
      }
    }
    for (; row < end; row += blockDim.y) {
      const Loaded loaded = from[row * stride];
#pragma unroll
      for (int k = 0; k < kPack; ++k) sums[k] = Op::Merge(sums[k], From::Take(loaded.v[k]));
    }
  }
  const int at = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kPack; ++k) partial[k][at] = sums[k];
  for (int half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) {
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        partial[k][at] = Op::Merge(partial[k][at], partial[k][at + half * blockDim.x]);
      }
    }
  }
  if (threadIdx.y == 0 && column < columns) {
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      out[blockIdx.y * columns + column + k] = Writer<T, Op, kToPartial>::Finish(partial[k][threadIdx.x], total);
    }
  }
}
