// Rows put together by segment.
#pragma once
#include "weir/device/cuda/device_code/elementwise.cuh"

// What is wrong with ids that should not fall: report = {the last id, any is negative, any falls}.
template <typename Index>
__global__ void CheckIds(const Index* ids, int64 n, int64* report) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (i == n - 1) report[0] = ids[i];
    if (ids[i] < 0) report[1] = 1;
    if (i > 0 && ids[i] < ids[i - 1]) report[2] = 1;
  }
}

// Where each segment begins, and at last where all end. Ids do not fall.
template <typename Index>
__global__ void FindBegins(const Index* ids, int64 n, int64 segments, int64* begins) {
  for (int64 segment = GridFirst(); segment <= segments; segment += GridStride()) {
    int64 low = 0, high = n;
    while (low < high) {
      const int64 middle = (low + high) / 2;
      if ((int64)ids[middle] < segment)
        low = middle + 1;
      else
        high = middle;
    }
    begins[segment] = low;
  }
}

// --- operations: Finish(what was put together, how many rows). A segment without rows is 0, or 1 for a product.
struct SegmentSum {
  template <typename A>
  static A Start() {
    return A(0);
  }
  template <typename A>
  static A Merge(A a, A b) {
    return WrapAdd(a, b);
  }
  template <typename A>
  static A Finish(A a, int64) {
    return a;
  }
};
struct SegmentMean : SegmentSum {
  template <typename A>
  static A Finish(A a, int64 count) {
    return count == 0 ? A(0) : a / (A)count;
  }
};
// As the sparse forms round: times the reciprocal.
struct SegmentScaledMean : SegmentSum {
  template <typename A>
  static A Finish(A a, int64 count) {
    return count == 0 ? A(0) : (A)(a * (1.0 / (double)count));
  }
};
struct SegmentSqrtN : SegmentSum {
  template <typename A>
  static A Finish(A a, int64 count) {
    return count == 0 ? A(0) : (A)(a * (1.0 / sqrt((double)count)));
  }
};
struct SegmentProd {
  template <typename A>
  static A Start() {
    return A(1);
  }
  template <typename A>
  static A Merge(A a, A b) {
    return WrapMul(a, b);
  }
  template <typename A>
  static A Finish(A a, int64) {
    return a;
  }
};
struct SegmentMax {
  template <typename A>
  static A Start() {
    return Lowest<A>();
  }
  template <typename A>
  static A Merge(A a, A b) {
    return Maximum::Do(a, b);
  }
  template <typename A>
  static A Finish(A a, int64 count) {
    return count == 0 ? A(0) : a;
  }
};
struct SegmentMin {
  template <typename A>
  static A Start() {
    return Highest<A>();
  }
  template <typename A>
  static A Merge(A a, A b) {
    return Minimum::Do(a, b);
  }
  template <typename A>
  static A Finish(A a, int64 count) {
    return count == 0 ? A(0) : a;
  }
};

// A block of 32 columns by shares of the rows (at most 8) for each segment. Row i of a segment is row rows[i] of
// `data`, which has `limit` rows, or row i where `rows` is null.
template <typename T, typename To, typename Index, typename Op>
__global__ void ReduceSegments(const T* data, int64 limit, const Index* rows, const int64* begins, int64 segments,
                               int64 inner, To* out, uint32* error) {
  typedef wide<T> A;
  __shared__ A partial[8][33];
  const int64 across = (inner + 31) / 32;
  for (int64 block = blockIdx.x; block < segments * across; block += gridDim.x) {
    const int64 segment = block / across, column = block % across * 32 + threadIdx.x;
    const int64 begin = begins[segment], end = begins[segment + 1];
    A sum = Op::template Start<A>();
    if (column < inner) {
      for (int64 i = begin + threadIdx.y; i < end; i += blockDim.y) {
        const int64 row = rows != nullptr ? (int64)rows[i] : i;
        if (row >= 0 && row < limit)
          sum = Op::Merge(sum, (A)data[row * inner + column]);
        else if (error != nullptr)
          *error = 1;
      }
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < inner) {
      for (int share = 1; share < (int)blockDim.y; ++share) sum = Op::Merge(sum, partial[share][threadIdx.x]);
      out[segment * inner + column] = (To)Op::Finish(sum, end - begin);
    }
    __syncthreads();
  }
}

template <typename From, typename To>
__global__ void ConvertAll(const From* from, To* to, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) to[i] = (To)from[i];
}
