// Products of tiles for attention: a warp owns 16 rows, and what a product multiplies them with lies in shared memory,
// in tiles of 64 rows. On tensor cores, with sums in float: of half, bfloat16, or float that is rounded to
// TensorFloat-32.
#pragma once

#include "weir/device/cuda/device_code/tensor_cores.cuh"

constexpr int kWarps = 4, kRows = 16 * kWarps, kTile = 64;

__device__ __forceinline__ uint32 SharedAddress(const void* pointer) {
  return (uint32)__cvta_generic_to_shared(pointer);
}
__device__ __forceinline__ void LoadMatrices(uint32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(SharedAddress(row)));
}
__device__ __forceinline__ void LoadTransposed(uint32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(SharedAddress(row)));
}
__device__ __forceinline__ void Commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Rows of a head in shared memory, kSize elements each, padded so that eight of them lie in different banks.
template <typename T, int kSize>
struct Tile {
  static constexpr int kPiece = 16 / sizeof(T), kStride = kSize + kPiece;
  T at[kTile * kStride];

  // Starts to copy rows [first, first + kTile); those from `end` on become 0.
  __device__ __forceinline__ void Start(const T* head, int64 time, int first, int end) {
    constexpr int kPieces = kSize / kPiece;  // of 16 bytes
    for (int i = threadIdx.x; i < kTile * kPieces; i += kWarps * 32) {
      const int row = i / kPieces, column = i % kPieces * kPiece;
      const bool is_there = first + row < end;
      const T* from = head + (is_there ? (int64)(first + row) * time : 0) + column;
      const int bytes = is_there ? 16 : 0;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(at + row * kStride + column)),
                   "l"(from), "r"(bytes)
                   : "memory");
    }
  }
  // Rows [row, row + 16), columns [column, column + kDepth) as the left operand.
  __device__ __forceinline__ void Left(uint32 (&a)[4], int row, int column) const {
    const int lane = threadIdx.x % 32;
    LoadMatrices(a, at + (row + lane % 16) * kStride + column + lane / 16 * kPiece);
    ToOperands<T>(a);
  }
  // As the right operand: its columns are the rows [row, row + 16), in two halves; `column` counts what is summed.
  __device__ __forceinline__ void RightOfRows(uint32 (&b)[4], int row, int column) const {
    const int lane = threadIdx.x % 32;
    LoadMatrices(b, at + (row + lane % 8 + lane / 16 * 8) * kStride + column + lane / 8 % 2 * kPiece);
    ToOperands<T>(b);
  }
  // As the right operand: its columns are the columns [column, column + 16); `row` counts what is summed. Of 16 bits.
  __device__ __forceinline__ void RightOfColumns(uint32 (&b)[4], int row, int column) const {
    const int lane = threadIdx.x % 32;
    LoadTransposed(b, at + (row + lane % 16) * kStride + column + lane / 16 * 8);
  }
  // The same for floats and 8 columns, with the rows in the order in which this thread has columns of sums.
  __device__ __forceinline__ void RightOfSums(uint32 (&b)[2], int row, int column) const {
    const int lane = threadIdx.x % 32;
    const T* from = at + (row + lane % 4 * 2) * kStride + column + lane / 4;
    b[0] = Operand<float>(__float_as_uint(from[0]));
    b[1] = Operand<float>(__float_as_uint(from[kStride]));
  }
};

// 16 rows of a head as left operands, kept in registers.
template <typename T, int kSize>
struct RowOperands {
  uint32 a[kSize / kDepth<T>][4];
  __device__ __forceinline__ void Take(const Tile<T, kSize>& tile) {
    const int row = threadIdx.x / 32 * 16;
#pragma unroll
    for (int k = 0; k < kSize / kDepth<T>; ++k) tile.Left(a[k], row, k * kDepth<T>);
  }
};

// 16 rows of sums over kColumns columns.
template <int kColumns>
struct Sums {
  float c[kColumns / 8][4];
  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (int i = 0; i < kColumns / 8; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) c[i][j] = 0;
  }
  // += rows * tile^T
  template <typename T, int kSize>
  __device__ __forceinline__ void AddRows(const RowOperands<T, kSize>& rows, const Tile<T, kSize>& tile) {
#pragma unroll
    for (int k = 0; k < kSize / kDepth<T>; ++k) {
#pragma unroll
      for (int n = 0; n < kColumns / 16; ++n) {
        uint32 b[4];
        tile.RightOfRows(b, n * 16, k * kDepth<T>);
        MultiplyAdd<T>(c[2 * n], rows.a[k], b[0], b[1]);
        MultiplyAdd<T>(c[2 * n + 1], rows.a[k], b[2], b[3]);
      }
    }
  }
  // += weights * tile, where `weights` has a column for each row of the tile.
  template <typename T>
  __device__ __forceinline__ void AddWeighted(const Sums<kTile>& weights, const Tile<T, kColumns>& tile) {
#pragma unroll
    for (int k = 0; k < kTile / 16; ++k) {
      const float(&left)[4] = weights.c[2 * k];
      const float(&right)[4] = weights.c[2 * k + 1];
      const uint32 a[4] = {PackPair<T>(left[0], left[1]), PackPair<T>(left[2], left[3]),
                           PackPair<T>(right[0], right[1]), PackPair<T>(right[2], right[3])};
#pragma unroll
      for (int n = 0; n < kColumns / 16; ++n) {
        uint32 b[4];
        tile.RightOfColumns(b, k * 16, n * 16);
        MultiplyAdd<T>(c[2 * n], a, b[0], b[1]);
        MultiplyAdd<T>(c[2 * n + 1], a, b[2], b[3]);
      }
    }
  }
  __device__ __forceinline__ void AddWeighted(const Sums<kTile>& weights, const Tile<float, kColumns>& tile) {
#pragma unroll
    for (int k = 0; k < kTile / 8; ++k) {
      // Columns 2i and 2i + 1 of the sums count as i and i + 4 of the operand; RightOfSums takes the rows alike.
      const float(&sum)[4] = weights.c[k];
      uint32 a[4] = {__float_as_uint(sum[0]), __float_as_uint(sum[2]), __float_as_uint(sum[1]),
                     __float_as_uint(sum[3])};
      ToOperands<float>(a);
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
        uint32 b[2];
        tile.RightOfSums(b, k * 8, n * 8);
        MultiplyAdd<float>(c[n], a, b[0], b[1]);
      }
    }
  }
  // Stores rows [first, end) as T; this thread has two of the warp's 16, with factors of their own.
  template <typename T>
  __device__ __forceinline__ void Store(T* head, int64 time, int first, int end, float low, float high) const {
    const int lane = threadIdx.x % 32, row = first + lane / 4, column = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kColumns / 8; ++i) {
      T* to = head + (int64)row * time + i * 8 + column;
      if (row < end) StorePair<T>(to, c[i][0] * low, c[i][1] * low);
      if (row + 8 < end) StorePair<T>(to + 8 * time, c[i][2] * high, c[i][3] * high);
    }
  }
};
