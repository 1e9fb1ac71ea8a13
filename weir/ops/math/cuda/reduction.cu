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

// A block for a result: for runs of elements that lie one behind the other. `total` is what a mean divides by.
template <typename T, typename Op, bool kFromPartial, bool kToPartial>
__global__ void ReduceRuns(const Reduction r, const typename Reader<T, Op, kFromPartial>::type* in,
                           typename Writer<T, Op, kToPartial>::type* out, int64 total) {
  typedef typename Op::A A;
  __shared__ A partial[256];
  const int64 begin = blockIdx.y * r.piece, end = begin + r.piece < r.count ? begin + r.piece : r.count;
  for (int64 result = blockIdx.x; result < r.results; result += gridDim.x) {
    const typename Reader<T, Op, kFromPartial>::type* from = in + r.kept.OffsetOf(result);
    A sum = Op::Start();
    for (int64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
      sum = Op::Merge(sum, Reader<T, Op, kFromPartial>::Take(from[r.reduced.OffsetOf(i)]));
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
