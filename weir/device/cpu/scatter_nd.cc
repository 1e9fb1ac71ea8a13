#include "weir/device/cpu/scatter_nd.h"

#include <algorithm>
#include <cstring>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/strided_copy.h"

namespace weir {
namespace {

template <typename T>
void Combine(ScatterOp op, const T* from, T* to, int64_t n) {
  auto each = [&](auto combine) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(combine(Widen(to[i]), Widen(from[i])));
  };
  switch (op) {
    case ScatterOp::kAdd:
      return each([](auto a, auto b) { return WrapAdd(a, b); });
    case ScatterOp::kSub:
      return each([](auto a, auto b) { return WrapSub(a, b); });
    case ScatterOp::kMin:
      if constexpr (!kIsComplex<T>) each([](auto a, auto b) { return b < a ? b : a; });
      return;
    case ScatterOp::kMax:
      if constexpr (!kIsComplex<T>) each([](auto a, auto b) { return a < b ? b : a; });
      return;
    case ScatterOp::kAssign:
      std::copy_n(from, n, to);
  }
}

void Apply(ScatterOp op, DType dtype, const char* from, char* to, int64_t n) {
  if (op == ScatterOp::kAssign) return CopyElements(dtype, from, to, n);
  if (dtype == DType::kString) {  // addition joins
    for (int64_t i = 0; i < n; ++i) {
      reinterpret_cast<std::string*>(to)[i] += reinterpret_cast<const std::string*>(from)[i];
    }
    return;
  }
  if (dtype == DType::kBool) {  // addition is "or"
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<bool*>(to)[i] |= reinterpret_cast<const bool*>(from)[i];
    return;
  }
  DispatchDType(dtype, NumberTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Combine(op, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), n);
  });
}

std::string Position(const Shape& shape, int64_t i) {
  std::string out;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    out = Cat(i % shape.dim(d), out.empty() ? "" : ",", out);
    i /= shape.dim(d);
  }
  return out;
}

}  // namespace

bool CanScatter(ScatterOp op, DType dtype) {
  if (op == ScatterOp::kAssign) return true;
  if (op == ScatterOp::kAdd && (dtype == DType::kBool || dtype == DType::kString)) return true;
  if (op == ScatterOp::kMin || op == ScatterOp::kMax) return DispatchDType(dtype, RealTypes{}, [](auto) {});
  return DispatchDType(dtype, NumberTypes{}, [](auto) {});
}

Status CheckScatterNd(const Shape& shape, const Tensor& indices, const Tensor& updates) {
  if (indices.rank() < 1) {
    return InvalidArgument("Indices shape must have rank at least one. Found:", indices.shape().ToString());
  }
  if (updates.rank() < 1) {
    return InvalidArgument("Updates shape must have rank at least one. Found:", updates.shape().ToString());
  }
  const bool is_nothing = indices.num_elements() == 0 && updates.num_elements() == 0;
  if (!is_nothing && (shape.num_elements() == 0 || indices.num_elements() == 0 || updates.num_elements() == 0)) {
    return InvalidArgument("Indices and updates specified for empty output shape");
  }
  const int outer = indices.rank() - 1;
  const int64_t depth = indices.dim(outer);
  if (depth > shape.rank()) {
    return InvalidArgument("The inner dimension of indices (", depth,
                           ") must be no greater than the rank of the output ", shape.ToString());
  }
  auto inner = shape.Slice(static_cast<int>(depth), shape.rank());
  WEIR_ASSIGN_OR_RETURN(Shape expected, indices.shape().Slice(0, outer).Concat(inner));
  if (updates.shape() == expected) {
    if (depth > 0 || shape.num_elements() == 0) return OkStatus();
    return InvalidArgument("Only indices.shape[-1] values between 1 and 5 are currently supported.  Requested rank: ",
                           depth);
  }
  if (updates.rank() < outer || !(updates.shape().Slice(0, outer) == indices.shape().Slice(0, outer))) {
    return InvalidArgument("Dimensions [0,", outer, ") of indices[shape=", indices.shape().ToString(),
                           "] must match dimensions [0,", outer, ") of updates[shape=", updates.shape().ToString(),
                           "]");
  }
  return InvalidArgument("Dimensions [", depth, ",", shape.rank(), ") of input[shape=", shape.ToString(),
                         "] must match dimensions [", outer, ",", updates.rank(),
                         ") of updates[shape=", updates.shape().ToString(), "]");
}

StatusOr<Tensor> CloneInParallel(const KernelContext& ctx, const Tensor& tensor) {
  constexpr int64_t kBlock = 64 * 1024;
  const int64_t bytes = static_cast<int64_t>(tensor.num_bytes());
  if (!IsPlain(tensor.dtype()) || bytes < 4 * kBlock) return tensor.Clone();
  WEIR_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(tensor.dtype(), tensor.shape()));
  const char* from = static_cast<const char*>(tensor.raw_data());
  char* to = static_cast<char*>(copy.raw_data());
  ctx.ParallelFor((bytes + kBlock - 1) / kBlock, 0.1 * kBlock, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kBlock, last = std::min(bytes, end * kBlock);
    std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
  });
  return copy;
}

Status ScatterNdInto(const KernelContext& ctx, ScatterOp op, const Tensor& indices, const Tensor& updates,
                     Tensor& target, bool ignore_bad) {
  if (indices.num_elements() == 0) return OkStatus();  // of whatever shape
  const Shape& shape = target.shape();
  const int outer = indices.rank() - 1;
  const int depth = static_cast<int>(indices.dim(outer));
  const Shape positions = indices.shape().Slice(0, outer);
  const int64_t count = positions.num_elements();
  const int64_t inner = shape.Slice(depth, shape.rank()).num_elements();
  std::vector<int64_t> rows(count);
  Status status;
  DispatchDType(indices.dtype(), TypeList<int32_t, int64_t, int16_t>{}, [&](auto tag) {
    using Index = typename decltype(tag)::type;
    const Index* index = indices.data<Index>();
    for (int64_t i = 0; i < count; ++i, index += depth) {
      int64_t row = 0;
      bool inside = true;
      for (int d = 0; d < depth; ++d) {
        inside = inside && index[d] >= 0 && index[d] < shape.dim(d);
        row = row * shape.dim(d) + (inside ? index[d] : 0);
      }
      rows[i] = inside ? row : -1;
      if (inside || ignore_bad) continue;
      std::string listed;
      for (int d = 0; d < depth; ++d) listed += Cat(d > 0 ? ", " : "", static_cast<int64_t>(index[d]));
      status = InvalidArgument("indices", outer > 0 ? Cat("[", Position(positions, i), "]") : std::string(), " = [",
                               listed, "] does not index into shape ", shape.ToString());
      return;
    }
  });
  WEIR_RETURN_IF_ERROR(status);
  const DType dtype = target.dtype();
  const int64_t size = static_cast<int64_t>(SizeOf(dtype)) * inner;
  const char* from = static_cast<const char*>(updates.raw_data());
  char* to = static_cast<char*>(target.raw_data());
  // Each thread has rows of its own, so those of one place stay in order.
  constexpr int64_t kMostParts = 4;  // each of which looks at every index
  const int64_t places = inner == 0 ? 0 : target.num_elements() / inner, parts = std::min(kMostParts, places);
  const double cost = static_cast<double>(count) * (1.0 + (20.0 + 0.1 * static_cast<double>(size)) / kMostParts);
  ctx.ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
    const int64_t first = places * begin / parts, last = places * end / parts;
    for (int64_t i = 0; i < count; ++i) {
      if (rows[i] >= first && rows[i] < last) Apply(op, dtype, from + i * size, to + rows[i] * size, inner);
    }
  });
  return OkStatus();
}

}  // namespace weir
