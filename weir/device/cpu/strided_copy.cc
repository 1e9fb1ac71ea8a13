#include "weir/device/cpu/strided_copy.h"

#include <cstring>

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

void StridedCopy(const KernelContext& ctx, DType dtype, std::span<const int64_t> dims, const void* from,
                 std::span<const int64_t> from_strides, void* to, std::span<const int64_t> to_strides) {
  for (int64_t size : dims) {
    if (size == 0) return;
  }
  const absl::InlinedVector<Dim, 8> merged = Merge(dims, from_strides, to_strides);
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
    for (int64_t row = begin;;) {
      if (whole_blocks) {
        std::memcpy(out, in, run.size * size);
      } else {
        copy(in, run.from, out, run.to, run.size);
      }
      if (++row == end) break;
      for (size_t d = 1; d < merged.size(); ++d) {
        in += merged[d].from * size;
        out += merged[d].to * size;
        if (++index[d] < merged[d].size) break;
        in -= merged[d].size * merged[d].from * size;
        out -= merged[d].size * merged[d].to * size;
        index[d] = 0;
      }
    }
  };
  if (rows * run.size < 8192) return copy_rows(0, rows);
  ctx.ParallelFor(rows, 2 + run.size * (dense ? size * 0.05 : 1.0), [&](int64_t begin, int64_t end) {
    if (begin < end) copy_rows(begin, end);
  });
}

}  // namespace weir
