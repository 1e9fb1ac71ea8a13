// Slices of a tensor that rows of an index tensor name: gathering and updating them.
#pragma once
#include "weir/device/cuda/device_code/elementwise.cuh"

struct alignas(16) Word16 {
  uint64 halves[2];
};

struct Slices {
  int32 depth;  // numbers in a row of indices
  int32 skips_negative;
  int64 dims[16];  // their limits
};

// Which slice a row names; -1 if none. `is_bad`: out of range, where that is an error.
template <typename Index>
int64 SliceOf(const Slices& slices, const Index* row, bool* is_bad) {
  int64 slice = 0;
  *is_bad = false;
  for (int d = 0; d < slices.depth; ++d) {
    const int64 index = row[d];
    if (index < 0 || index >= slices.dims[d]) {
      *is_bad = !(slices.skips_negative && index < 0);
      return -1;
    }
    slice = slice * slices.dims[d] + index;
  }
  return slice;
}

// out[block, i, :] = params[block, indices[block / outer, i], :]; zeros where an index is bad. Size is the type of the
// arithmetic on places.
struct Gathering {
  int64 outer, limit, inner, count;
};
template <typename Word, typename Index, typename Size>
__global__ void GatherRows(const Gathering g, const Word* params, const Index* indices, Word* out, int64 n,
                           uint32* error) {
  const Size inner = (Size)g.inner, count = (Size)g.count, outer = (Size)g.outer;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const Size row = (Size)i / inner, column = (Size)i % inner, block = row / count;
    const int64 index = indices[(int64)(block / outer) * g.count + row % count];
    if (index >= 0 && index < g.limit) {
      out[i] = params[((int64)block * g.limit + index) * g.inner + column];
    } else {
      out[i] = Word();
      if (error != nullptr) *error = 1;
    }
  }
}

template <typename Word, typename Index, typename Size>
__global__ void GatherSlices(const Slices slices, int64 inner, const Word* params, const Index* indices, Word* out,
                             int64 n, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const Size row = (Size)i / (Size)inner, column = (Size)i % (Size)inner;
    bool is_bad;
    const int64 slice = SliceOf(slices, indices + (int64)row * slices.depth, &is_bad);
    out[i] = slice >= 0 ? params[slice * inner + column] : Word();
    if (is_bad && error != nullptr) *error = 1;
  }
}

// --- updates: Do(old, update)
struct Assign {
  template <typename T>
  static T Do(T, T y) {
    return y;
  }
};
// A NaN update is not taken, a NaN stays.
BINARY(KeepLower, y < x ? y : x)
BINARY(KeepHigher, x < y ? y : x)

// Applies an operation to an element that other threads may be at, too.
template <typename Op, typename A>
void AtomicDo(A* at, A value) {
  constexpr bool kAdds = IsSame<Op, AddV2>::value, kSubtracts = IsSame<Op, Sub>::value;
  if constexpr (IsComplex<A>::value) {  // sums and differences, part by part
    typedef decltype(value.real) R;
    AtomicDo<Op>(&((R*)at)[0], value.real);
    AtomicDo<Op>(&((R*)at)[1], value.imag);
  } else if constexpr ((kAdds || kSubtracts) && (IsSame<A, float>::value || IsSame<A, double>::value)) {
    atomicAdd(at, kAdds ? value : -value);
  } else if constexpr ((kAdds || kSubtracts) && !IsFloating<A>::value && sizeof(A) == 4) {
    atomicAdd((uint32*)at, kAdds ? (uint32)value : 0u - (uint32)value);
  } else if constexpr ((kAdds || kSubtracts) && !IsFloating<A>::value && sizeof(A) == 8) {
    atomicAdd((uint64*)at, kAdds ? (uint64)value : 0ull - (uint64)value);
  } else if constexpr (sizeof(A) >= 4) {
    if constexpr (sizeof(A) == 4) {
      uint32 seen = *(volatile uint32*)at, expected;
      do {
        expected = seen;
        const A next = Op::Do(__builtin_bit_cast(A, expected), value);
        seen = atomicCAS((uint32*)at, expected, __builtin_bit_cast(uint32, next));
      } while (seen != expected);
    } else {
      uint64 seen = *(volatile uint64*)at, expected;
      do {
        expected = seen;
        const A next = Op::Do(__builtin_bit_cast(A, expected), value);
        seen = atomicCAS((uint64*)at, expected, __builtin_bit_cast(uint64, next));
      } while (seen != expected);
    }
  } else {  // within a word of four bytes
    uint32* word = (uint32*)((uint64)at & ~3ull);
    const int shift = (int)((uint64)at & 3) * 8;
    constexpr uint32 kMask = sizeof(A) == 1 ? 0xffu : 0xffffu;
    uint32 seen = *(volatile uint32*)word, expected;
    do {
      expected = seen;
      A old;
      const uint32 bits = expected >> shift & kMask;
      memcpy(&old, &bits, sizeof(A));
      const A next = (A)Op::Do((wide<A>)old, (wide<A>)value);
      uint32 next_bits = 0;
      memcpy(&next_bits, &next, sizeof(A));
      seen = atomicCAS(word, expected, (expected & ~(kMask << shift)) | next_bits << shift);
    } while (seen != expected);
  }
}

// target[slice of row i] = Op(that, updates[i]) for all rows, in any order. `stride` is 0 where one number is the
// update of all elements, else 1.
template <typename T, typename A, typename Index, typename Op>
__global__ void UpdateSlices(const Slices slices, int64 inner, const Index* indices, const T* updates, int64 stride,
                             A* target, int64 n, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 row = i / inner, column = i % inner;
    bool is_bad;
    const int64 slice = SliceOf(slices, indices + row * slices.depth, &is_bad);
    if (is_bad && error != nullptr) *error = 1;
    if (slice >= 0) AtomicDo<Op>(&target[slice * inner + column], (A)updates[i * stride]);
  }
}

// For an update in order: what each row is sorted by. Rows that name no slice come last.
template <typename Index>
__global__ void MakeSliceKeys(const Slices slices, int64 limit, const Index* indices, int64 rows, uint64* keys,
                              uint32* error) {
  for (int64 row = GridFirst(); row < rows; row += GridStride()) {
    bool is_bad;
    const int64 slice = SliceOf(slices, indices + row * slices.depth, &is_bad);
    if (is_bad && error != nullptr) *error = 1;
    keys[row] = slice >= 0 ? (uint64)slice : (uint64)limit;
  }
}
template <typename T, typename A, typename Op>
__global__ void UpdateSlicesInOrder(const uint64* keys, const int32* positions, int64 rows, int64 limit, int64 inner,
                                    const T* updates, int64 stride, A* target) {
  for (int64 i = GridFirst(); i < rows * inner; i += GridStride()) {
    const int64 first = i / inner, column = i % inner;
    const uint64 slice = keys[first];
    if (slice >= (uint64)limit || (first > 0 && keys[first - 1] == slice)) continue;
    A value = target[slice * inner + column];
    for (int64 row = first; row < rows && keys[row] == slice; ++row) {
      value = (A)Op::Do((wide<A>)value, (wide<A>)(A)updates[(positions[row] * inner + column) * stride]);
    }
    target[slice * inner + column] = value;
  }
}

// Whether an update divides integers by zero.
template <typename T>
__global__ void FindZero(const T* updates, int64 n, uint32* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (updates[i] == T(0)) *error = 1;
  }
}

// Row numbers that wrap around, brought into [0, limit).
inline __global__ void WrapRows(const int32* rows, int64 n, int64 limit, int64* out) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) out[i] = (rows[i] % limit + limit) % limit;
}
