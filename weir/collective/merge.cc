#include "weir/collective/merge.h"

#include <type_traits>

#include "weir/tensor/number.h"

namespace weir {
namespace {

using MergeTypes = TypeList<Half, BFloat16, float, double, int32_t, int64_t>;

// The type in which values are computed.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// Sums and products of integers wrap around.
template <typename W, typename Op>
W Wrapping(W a, W b, Op op) {
  if constexpr (std::is_integral_v<W>) {
    using U = std::make_unsigned_t<W>;
    return static_cast<W>(op(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return op(a, b);
  }
}

template <typename T, typename Op>
void Loop(const void* own, const void* received, void* out, int64_t count, Op op) {
  const T* a = static_cast<const T*>(own);
  const T* b = static_cast<const T*>(received);
  T* c = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) c[i] = T(op(static_cast<Wide<T>>(a[i]), static_cast<Wide<T>>(b[i])));
}

}  // namespace

bool CanMerge(DType dtype) {
  return DispatchDType(dtype, MergeTypes{}, [](auto) {});
}

void MergeChunks(DType dtype, MergeOp op, const void* own, const void* received, void* out, int64_t count) {
  DispatchDType(dtype, MergeTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    switch (op) {
      case MergeOp::kAdd:
        return Loop<T>(own, received, out, count,
                       [](W a, W b) { return Wrapping(a, b, [](auto x, auto y) { return x + y; }); });
      case MergeOp::kMul:
        return Loop<T>(own, received, out, count,
                       [](W a, W b) { return Wrapping(a, b, [](auto x, auto y) { return x * y; }); });
      case MergeOp::kMin:  // a NaN on either side is kept
        return Loop<T>(own, received, out, count, [](W a, W b) { return b < a || b != b ? b : a; });
      case MergeOp::kMax:
        return Loop<T>(own, received, out, count, [](W a, W b) { return b > a || b != b ? b : a; });
    }
  });
}

void DivideChunk(DType dtype, int divisor, void* values, int64_t count) {
  DispatchDType(dtype, MergeTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const W by = static_cast<W>(static_cast<T>(static_cast<W>(divisor)));
    T* out = static_cast<T*>(values);
    for (int64_t i = 0; i < count; ++i) out[i] = T(static_cast<W>(out[i]) / by);
  });
}

}  // namespace weir
