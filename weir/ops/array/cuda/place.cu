// Elements found by their place in the output.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct alignas(16) Word16 {
  uint64 halves[2];
};

template <typename Word, typename Index>
__global__ void OneHot(const Index* indices, const Word* on, const Word* off, int64 depth, int64 suffix, Word* out,
                       int64 n) {
  const Word on_value = *on, off_value = *off;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 rest = i % suffix, place = i / suffix;
    out[i] = (int64)indices[place / depth * suffix + rest] == place % depth ? on_value : off_value;
  }
}

template <typename T, typename C>
__global__ void Range(C start, C delta, T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if constexpr (IsFloating<T>::value)
      out[i] = (T)(start + (C)i * delta);
    else
      out[i] = (T)((uint64)start + (uint64)i * (uint64)delta);
  }
}

// Where each value belongs in its sorted row.
template <typename T, typename Index, bool kUpper>
__global__ void FindBounds(const T* sorted, int64 width, const T* values, int64 columns, Index* out, int64 n) {
  typedef wide<T> C;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const T* row = sorted + i / columns * width;
    const C value = (C)values[i];
    int64 low = 0, high = width;
    while (low < high) {
      const int64 middle = (low + high) / 2;
      const bool is_before = kUpper ? !(value < (C)row[middle]) : (C)row[middle] < value;
      if (is_before)
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = (Index)low;
  }
}

template <typename Word>
__global__ void BandPart(const Word* in, int64 rows, int64 columns, int64 lower, int64 upper, Word* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const int64 column = i % columns, row = i / columns % rows;
    const bool is_inside = (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
    out[i] = is_inside ? in[i] : Word();
  }
}

struct Mirror {
  int32 rank;
  int64 skip;  // 1: the border is not repeated
  int64 padded[8], inner[8], before[8];
};

template <typename Word>
__global__ void MirrorPad(const Mirror mirror, const Word* in, Word* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    int64 rest = i, source = 0, stride = 1;
    for (int d = mirror.rank - 1; d >= 0; --d) {
      int64 at = rest % mirror.padded[d] - mirror.before[d];
      rest /= mirror.padded[d];
      if (at < 0) at = -at - 1 + mirror.skip;
      if (at >= mirror.inner[d]) at = 2 * mirror.inner[d] - 1 - at - mirror.skip;
      source += at * stride;
      stride *= mirror.inner[d];
    }
    out[i] = in[source];
  }
}

// Each inner element is the sum of its images: itself and its reflections at both ends of every dimension.
template <typename T>
__global__ void FoldMirror(const Mirror mirror, const T* in, T* out, int64 n) {
  typedef wide<T> C;
  int64 combinations = 1;
  for (int d = 0; d < mirror.rank; ++d) combinations *= 3;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    C sum = C(0);
    for (int64 combination = 0; combination < combinations; ++combination) {
      int64 rest = i, which = combination, source = 0, stride = 1;
      bool exists = true;
      for (int d = mirror.rank - 1; d >= 0; --d) {
        const int64 size = mirror.inner[d], at = rest % size;
        rest /= size;
        int64 image = at;
        if (which % 3 == 1) image = mirror.skip - 1 - at;
        if (which % 3 == 2) image = 2 * size - 1 - mirror.skip - at;
        // The border's own image is itself where it is not repeated.
        if (which % 3 != 0 && image == at) exists = false;
        which /= 3;
        image += mirror.before[d];
        exists = exists && image >= 0 && image < mirror.padded[d];
        source += image * stride;
        stride *= mirror.padded[d];
      }
      if (exists) sum = sum + (C)in[source];
    }
    out[i] = (T)sum;
  }
}

// found: bit 0 NaN, bit 1 -Inf, bit 2 +Inf.
template <typename T>
__global__ void FindNonFinite(const T* x, int64 n, uint32* found) {
  uint32 own = 0;
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const wide<T> value = (wide<T>)x[i];
    if (value != value)
      own |= 1;
    else if (value - value != 0)
      own |= value < 0 ? 2 : 4;
  }
  if (own != 0) atomicOr(found, own);
}
struct Errors {
  uint32* words[8];
};
inline __global__ void RaiseNonFinite(const uint32* found, const Errors errors) {
  if (*found != 0) *errors.words[*found] = 1;
}

// Rows from different tensors; no address: zeros.
template <typename Word>
__global__ void CollectRows(const uint64* rows, int64 inner, Word* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    const Word* row = (const Word*)rows[i / inner];
    out[i] = row != nullptr ? row[i % inner] : Word();
  }
}
