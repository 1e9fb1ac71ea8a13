#include "weir/device/cpu/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "weir/device/cpu/copy_bytes.h"
#include "weir/device/cpu/vector.h"
#include "weir/framework/element_mover.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

struct Bytes16 {
  uint64_t words[2];
};

template <typename T>
void CopyRunOf(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t n) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  if (to_stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * from_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * to_stride] = in[i * from_stride];
  }
}

using CopyRun = void (*)(const void*, int64_t, void*, int64_t, int64_t);

CopyRun FindCopyRun(DType dtype) {
  switch (dtype) {
    case DType::kString:
      return &CopyRunOf<std::string>;
    case DType::kResource:
      return &CopyRunOf<ResourceHandle>;
    case DType::kVariant:
      return &CopyRunOf<Variant>;
    default:
      break;
  }
  switch (SizeOf(dtype)) {
    case 1:
      return &CopyRunOf<uint8_t>;
    case 2:
      return &CopyRunOf<uint16_t>;
    case 4:
      return &CopyRunOf<uint32_t>;
    case 8:
      return &CopyRunOf<uint64_t>;
    default:
      return &CopyRunOf<Bytes16>;
  }
}

struct Dim {
  int64_t size;
  int64_t from;
  int64_t to;
};

typedef uint32_t Row4 __attribute__((vector_size(32)));
typedef uint64_t Row8 __attribute__((vector_size(32)));

// The elements of two rows in turn, of the lower and of the upper part of each half of them.
[[gnu::always_inline]] inline void Interleave(const Row4& a, const Row4& b, Row4& low, Row4& high) {
  low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  high = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}

// A square of 32 bytes by as many rows: eight numbers of four bytes, four of eight.
[[gnu::always_inline]] inline void SwapSquare(const uint32_t* from, int64_t from_stride, uint32_t* to,
                                              int64_t to_stride) {
  Row4 in[8], half[8];
  WEIR_UNROLL
  for (int i = 0; i < 8; ++i) std::memcpy(&in[i], from + i * from_stride, sizeof(Row4));
  // Four rows at a time, each of their two halves as a square of its own.
  WEIR_UNROLL
  for (int i = 0; i < 8; i += 4) {
    Row4 even[2], odd[2];
    Interleave(in[i], in[i + 2], even[0], even[1]);
    Interleave(in[i + 1], in[i + 3], odd[0], odd[1]);
    Interleave(even[0], odd[0], half[i], half[i + 1]);
    Interleave(even[1], odd[1], half[i + 2], half[i + 3]);
  }
  WEIR_UNROLL
  for (int i = 0; i < 4; ++i) {
    const Row4 a = __builtin_shufflevector(half[i], half[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    const Row4 b = __builtin_shufflevector(half[i], half[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    std::memcpy(to + i * to_stride, &a, sizeof(Row4));
    std::memcpy(to + (i + 4) * to_stride, &b, sizeof(Row4));
  }
}

[[gnu::always_inline]] inline void SwapSquare(const uint64_t* from, int64_t from_stride, uint64_t* to,
                                              int64_t to_stride) {
  Row8 in[4];
  WEIR_UNROLL
  for (int i = 0; i < 4; ++i) std::memcpy(&in[i], from + i * from_stride, sizeof(Row8));
  const Row8 a = __builtin_shufflevector(in[0], in[1], 0, 4, 2, 6),
             b = __builtin_shufflevector(in[0], in[1], 1, 5, 3, 7);
  const Row8 c = __builtin_shufflevector(in[2], in[3], 0, 4, 2, 6),
             d = __builtin_shufflevector(in[2], in[3], 1, 5, 3, 7);
  const Row8 out[4] = {__builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(b, d, 0, 1, 4, 5),
                       __builtin_shufflevector(a, c, 2, 3, 6, 7), __builtin_shufflevector(b, d, 2, 3, 6, 7)};
  WEIR_UNROLL
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_stride, &out[i], sizeof(Row8));
}

// Swaps two dimensions: out[c * to + r] = in[r * from + c], `rows` by `columns`, in tiles of a cache line by as many.
// Down the rows first: the results are then few and long, and lines that lie a power of two apart seldom push each
// other out.
template <typename T>
[[gnu::always_inline]] inline void SwapLines(const void* from, int64_t from_stride, void* to, int64_t to_stride,
                                             int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 64 / static_cast<int64_t>(sizeof(T)), kSquare = kTile / 2;
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const int64_t whole_rows = rows - rows % kSquare, whole_columns = columns - columns % kSquare;
  for (int64_t c = 0; c < whole_columns; c += kTile) {
    for (int64_t r = 0; r < whole_rows; r += kTile) {
      for (int64_t k = c; k < std::min(c + kTile, whole_columns); k += kSquare) {
        for (int64_t i = r; i < std::min(r + kTile, whole_rows); i += kSquare) {
          SwapSquare(in + i * from_stride + k, from_stride, out + k * to_stride + i, to_stride);
        }
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      out[c * to_stride + r] = in[r * from_stride + c];
    }
  }
}

WEIR_VECTOR void SwapLines4(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t rows,
                            int64_t columns) {
  SwapLines<uint32_t>(from, from_stride, to, to_stride, rows, columns);
}

WEIR_VECTOR void SwapLines8(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t rows,
                            int64_t columns) {
  SwapLines<uint64_t>(from, from_stride, to, to_stride, rows, columns);
}

// The same for small numbers. A tile goes through a buffer, since lines that lie a power of two apart would push each
// other out.
template <typename T>
void SwapTiles(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 16;
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  T tile[kTile * kTile];
  for (int64_t r = 0; r < rows; r += kTile) {
    const int64_t height = std::min(kTile, rows - r);
    for (int64_t c = 0; c < columns; c += kTile) {
      const int64_t width = std::min(kTile, columns - c);
      for (int64_t i = 0; i < height; ++i) {
        const T* row = in + (r + i) * from_stride + c;
        for (int64_t k = 0; k < width; ++k) tile[k * kTile + i] = row[k];
      }
      for (int64_t k = 0; k < width; ++k) std::copy_n(tile + k * kTile, height, out + (c + k) * to_stride + r);
    }
  }
}

using Swap = void (*)(const void*, int64_t, void*, int64_t, int64_t, int64_t);

// Null for types that are not plain, or too large for it to pay.
Swap FindSwap(DType dtype) {
  if (!IsPlain(dtype)) return nullptr;
  switch (SizeOf(dtype)) {
    case 1:
      return &SwapTiles<uint8_t>;
    case 2:
      return &SwapTiles<uint16_t>;
    case 4:
      return &SwapLines4;
    case 8:
      return &SwapLines8;
    default:
      return nullptr;
  }
}

// Innermost first; dimensions of one element go, neighbours that make one long dimension merge.
absl::InlinedVector<Dim, 8> Merge(std::span<const int64_t> dims, std::span<const int64_t> from,
                                  std::span<const int64_t> to) {
  absl::InlinedVector<Dim, 8> merged;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (!merged.empty()) {
      Dim& inner = merged.back();
      if (from[i] == inner.from * inner.size && to[i] == inner.to * inner.size) {
        inner.size *= dims[i];
        continue;
      }
    }
    merged.push_back({dims[i], from[i], to[i]});
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

// The walk over the dimensions from `first` on.
struct Outer {
  absl::InlinedVector<Dim, 8> dims;
  std::pair<int64_t, int64_t> OffsetsOf(int64_t row) const {
    int64_t from = 0, to = 0;
    for (const Dim& dim : dims) {
      from += row % dim.size * dim.from;
      to += row % dim.size * dim.to;
      row /= dim.size;
    }
    return {from, to};
  }
};

// A copy whose result runs along one dimension and whose source runs along another. False if it is none.
bool SwapCopy(const KernelContext& ctx, DType dtype, const absl::InlinedVector<Dim, 8>& merged, const void* from,
              void* to) {
  const Dim& run = merged[0];
  const Swap swap = FindSwap(dtype);
  if (swap == nullptr || run.to != 1 || run.from <= 1 || run.size < 4) return false;
  size_t other = 0;
  for (size_t d = 1; d < merged.size(); ++d) {
    if (merged[d].from == 1 && merged[d].size >= 4) other = d;
  }
  if (other == 0) return false;
  Outer outer;
  int64_t rows = 1;
  for (size_t d = 1; d < merged.size(); ++d) {
    if (d == other) continue;
    outer.dims.push_back(merged[d]);
    rows *= merged[d].size;
  }
  // Strips of the source's dimension, so that there is work for every thread.
  constexpr int64_t kStrip = 64;
  const Dim across = merged[other];
  const int64_t strips = (across.size + kStrip - 1) / kStrip, size = static_cast<int64_t>(SizeOf(dtype));
  auto body = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto [in, out] = outer.OffsetsOf(i / strips);
      const int64_t first = i % strips * kStrip, width = std::min(kStrip, across.size - first);
      in += first;
      out += first * across.to;
      swap(static_cast<const char*>(from) + in * size, run.from, static_cast<char*>(to) + out * size, across.to,
           run.size, width);
    }
  };
  if (rows * across.size * run.size < 8192) {
    body(0, rows * strips);
  } else {
    ctx.ParallelFor(rows * strips, 0.25 * static_cast<double>(run.size * std::min(kStrip, across.size)), body);
  }
  return true;
}

StatusOr<ElementMover*> MoverOf(const KernelContext& ctx) {
  auto* mover = dynamic_cast<ElementMover*>(&ctx.device());
  if (mover == nullptr) return Unimplemented("The device ", ctx.device().name(), " does not move elements itself");
  return mover;
}

}  // namespace

Dims DenseStrides(std::span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Dims BroadcastStrides(const Shape& from, const Shape& to) {
  Dims strides(to.rank(), 0);
  const Dims dense = DenseStrides(from.dims());
  const int missing = to.rank() - from.rank();
  for (int d = 0; d < from.rank(); ++d) strides[missing + d] = from.dim(d) == 1 ? 0 : dense[d];
  return strides;
}

void FillElements(DType dtype, const void* value, void* to, int64_t n) { FindCopyRun(dtype)(value, 0, to, 1, n); }

Status FillElements(const KernelContext& ctx, DType dtype, const void* value, void* to, int64_t n) {
  if (ctx.device().is_host()) {
    FillElements(dtype, value, to, n);
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(ElementMover * mover, MoverOf(ctx));
  return mover->FillElements(ctx, SizeOf(dtype), value, to, n);
}

Status SpreadElement(const KernelContext& ctx, DType dtype, const void* value, void* to, int64_t n) {
  if (ctx.device().is_host()) {
    FillElements(dtype, value, to, n);
    return OkStatus();
  }
  const int64_t still = 0, next = 1;
  return StridedCopy(ctx, dtype, {&n, 1}, value, {&still, 1}, to, {&next, 1});
}

StatusOr<Tensor> CloneElements(KernelContext& ctx, const Tensor& tensor) {
  if (ctx.device().is_host()) return tensor.Clone();
  WEIR_ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemp(tensor.dtype(), tensor.shape()));
  const int64_t n = tensor.num_elements(), next = 1;
  WEIR_RETURN_IF_ERROR(
      StridedCopy(ctx, tensor.dtype(), {&n, 1}, tensor.raw_data(), {&next, 1}, copy.raw_data(), {&next, 1}));
  return copy;
}

Status ClearElements(const KernelContext& ctx, Tensor& tensor) {
  if (!IsPlain(tensor.dtype())) return OkStatus();
  if (ctx.device().is_host()) {
    std::memset(tensor.raw_data(), 0, tensor.num_bytes());
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(ElementMover * mover, MoverOf(ctx));
  return mover->ClearBytes(ctx, tensor.raw_data(), tensor.num_bytes());
}

Status StridedCopy(const KernelContext& ctx, DType dtype, std::span<const int64_t> dims, const void* from,
                   std::span<const int64_t> from_strides, void* to, std::span<const int64_t> to_strides) {
  for (int64_t size : dims) {
    if (size == 0) return OkStatus();
  }
  const absl::InlinedVector<Dim, 8> merged = Merge(dims, from_strides, to_strides);
  if (!ctx.device().is_host()) {
    WEIR_ASSIGN_OR_RETURN(ElementMover * mover, MoverOf(ctx));
    Dims sizes, froms, tos;
    for (size_t d = merged.size(); d-- > 0;) {
      sizes.push_back(merged[d].size);
      froms.push_back(merged[d].from);
      tos.push_back(merged[d].to);
    }
    return mover->MoveElements(ctx, SizeOf(dtype), sizes, from, froms, to, tos);
  }
  if (SwapCopy(ctx, dtype, merged, from, to)) return OkStatus();
  const Dim run = merged[0];
  const bool dense = run.from == 1 && run.to == 1;
  const bool whole_blocks = dense && IsPlain(dtype);
  const CopyRun copy = FindCopyRun(dtype);
  const int64_t size = static_cast<int64_t>(SizeOf(dtype));
  int64_t rows = 1;
  for (size_t d = 1; d < merged.size(); ++d) rows *= merged[d].size;

  auto copy_rows = [&](int64_t begin, int64_t end) {
    Dims index(merged.size());
    int64_t rest = begin;
    const char* in = static_cast<const char*>(from);
    char* out = static_cast<char*>(to);
    for (size_t d = 1; d < merged.size(); ++d) {
      index[d] = rest % merged[d].size;
      rest /= merged[d].size;
      in += index[d] * merged[d].from * size;
      out += index[d] * merged[d].to * size;
    }
    const Dim inner = merged.size() > 1 ? merged[1] : Dim{1, 0, 0};
    const int64_t bytes = run.size * size, in_step = inner.from * size, out_step = inner.to * size;
    for (int64_t row = begin;;) {
      const int64_t n = std::min(end - row, inner.size - (merged.size() > 1 ? index[1] : 0));
      for (int64_t i = 0; i < n; ++i, in += in_step, out += out_step) {
        if (whole_blocks) {
          CopyBytes(in, out, bytes);
        } else {
          copy(in, run.from, out, run.to, run.size);
        }
      }
      row += n;
      if (row == end) break;
      in -= inner.size * in_step;
      out -= inner.size * out_step;
      index[1] = 0;
      for (size_t d = 2; d < merged.size(); ++d) {
        in += merged[d].from * size;
        out += merged[d].to * size;
        if (++index[d] < merged[d].size) break;
        in -= merged[d].size * merged[d].from * size;
        out -= merged[d].size * merged[d].to * size;
        index[d] = 0;
      }
    }
  };
  if (rows * run.size < 8192) {
    copy_rows(0, rows);
    return OkStatus();
  }
  ctx.ParallelFor(rows, 2 + run.size * (dense ? size * 0.1 : 1.0), [&](int64_t begin, int64_t end) {
    if (begin < end) copy_rows(begin, end);
  });
  return OkStatus();
}

}  // namespace weir
