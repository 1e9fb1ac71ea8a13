// Rows combined by segment: SegmentX over sorted ids, UnsortedSegmentX over any.
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/register.h"
#include "weir/ops/math/segment.h"

namespace weir {
namespace {

enum class SegmentOp { kSum, kMean, kProd, kMax, kMin };

// The largest finite value of T.
template <typename T>
ComputeType<T> Highest() {
  if constexpr (kIsSmallFloat<T>) {
    return Widen(T::FromBits(std::is_same_v<T, Half> ? 0x7bff : 0x7f7f));
  } else {
    return std::numeric_limits<T>::max();
  }
}

template <typename T, typename A>
A StartValue(SegmentOp op, bool gaps_are_zero) {
  if constexpr (!kIsComplex<A>) {
    if constexpr (!std::is_integral_v<T>) {
      if (gaps_are_zero && op == SegmentOp::kMax) return -std::numeric_limits<A>::infinity();
      if (gaps_are_zero && op == SegmentOp::kMin) return std::numeric_limits<A>::infinity();
    }
    // An empty segment of UnsortedSegmentMax is the lowest finite value.
    if (op == SegmentOp::kMax) return std::is_integral_v<T> ? std::numeric_limits<A>::lowest() : A(-Highest<T>());
    if (op == SegmentOp::kMin) return Highest<T>();
  }
  return op == SegmentOp::kProd ? A(1) : A(0);
}

template <typename A, typename T>
void TakeRow(SegmentOp op, const T* from, A* to, int64_t n) {
  auto each = [&](auto combine) {
    for (int64_t i = 0; i < n; ++i) to[i] = combine(to[i], static_cast<A>(Widen(from[i])));
  };
  switch (op) {
    case SegmentOp::kSum:
    case SegmentOp::kMean:
      return each([](A a, A x) { return WrapAdd(a, x); });
    case SegmentOp::kProd:
      return each([](A a, A x) { return WrapMul(a, x); });
    case SegmentOp::kMax:
      if constexpr (!kIsComplex<A>) each([](A a, A x) { return a > x || a != a ? a : x; });
      return;
    case SegmentOp::kMin:
      if constexpr (!kIsComplex<A>) each([](A a, A x) { return a < x || a != a ? a : x; });
      return;
  }
}

template <typename A>
A Divide(A sum, int64_t count) {
  if constexpr (kIsComplex<A>) {
    return sum / static_cast<typename A::value_type>(count);
  } else {
    return static_cast<A>(sum / static_cast<A>(count));
  }
}

// Segments from `first` to `last`: adds every row of `data` to the accumulators of its segment. `rows` has room for all
// ids.
template <typename T>
void CombineSome(SegmentOp op, const T* data, std::span<const int64_t> ids, int64_t inner, int64_t first, int64_t last,
                 int64_t* rows, bool gaps_are_zero, T* out) {
  using A = ComputeType<T>;
  constexpr bool kInPlace = std::is_same_v<A, T>;
  const int64_t segments = last - first;
  std::vector<A> own(static_cast<size_t>(kInPlace ? 0 : segments * inner));
  A* sums = own.data();
  if constexpr (kInPlace) sums = out + first * inner;
  std::fill_n(sums, segments * inner, StartValue<T, A>(op, gaps_are_zero));
  const bool counts_matter = gaps_are_zero || op == SegmentOp::kMean;
  std::vector<int64_t> counts(static_cast<size_t>(counts_matter ? segments : 0), 0);
  // The rows of these segments, found without a branch that nobody can foretell.
  size_t count_rows = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    rows[count_rows] = static_cast<int64_t>(i);
    count_rows += ids[i] >= first && ids[i] < last ? 1 : 0;
  }
  for (size_t i = 0; i < count_rows; ++i) {
    const int64_t row = rows[i], s = ids[static_cast<size_t>(row)] - first;
    TakeRow(op, data + row * inner, sums + s * inner, inner);
    if (counts_matter) ++counts[static_cast<size_t>(s)];
  }
  for (int64_t s = 0; s < segments && (counts_matter || !kInPlace); ++s) {
    const int64_t count = counts_matter ? counts[static_cast<size_t>(s)] : 0;
    const bool zero = gaps_are_zero && count == 0 && op != SegmentOp::kProd,
               divide = op == SegmentOp::kMean && count > 0;
    if (kInPlace && !zero && !divide) continue;
    for (int64_t i = s * inner; i < (s + 1) * inner; ++i) {
      A value = zero ? A(0) : sums[i];
      if (divide) value = Divide(value, count);
      out[first * inner + i] = static_cast<T>(value);
    }
  }
}

// All segments; negative ids are left out. Each thread has segments of its own, so the order of additions is the same
// with any number of them.
template <typename T>
Status Combine(const KernelContext& ctx, SegmentOp op, const T* data, std::span<const int64_t> ids, int64_t inner,
               int64_t segments, bool gaps_are_zero, T* out) {
  constexpr int64_t kMostParts = 4;  // each of which looks at every id
  const int64_t rows = static_cast<int64_t>(ids.size()), parts = std::min(kMostParts, segments);
  const double cost =
      static_cast<double>(rows) * (1.0 + 0.3 * static_cast<double>(inner) / static_cast<double>(parts)) +
      0.3 * static_cast<double>(segments / parts) * static_cast<double>(inner);
  WEIR_ASSIGN_OR_RETURN(Tensor chosen, Tensor::Allocate(DType::kInt64, Shape({parts, rows + 1})));
  ctx.ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
    CombineSome(op, data, ids, inner, segments * begin / parts, segments * end / parts,
                chosen.data<int64_t>() + begin * (rows + 1), gaps_are_zero, out);
  });
  return OkStatus();
}

// Ids of either type as 64-bit numbers.
StatusOr<Tensor> AsInt64(const Tensor& ids) {
  if (ids.dtype() == DType::kInt64) return ids;
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kInt64, ids.shape()));
  const bool is_known = DispatchDType(ids.dtype(), IntegerTypes{}, [&](auto tag) {
    const auto values = ids.span<typename decltype(tag)::type>();
    std::copy(values.begin(), values.end(), out.data<int64_t>());
  });
  if (!is_known) return InvalidArgument("segment_ids must be integers, got ", Name(ids.dtype()));
  return out;
}

class SegmentKernel : public Kernel {
 public:
  explicit SegmentKernel(SegmentOp op) : op_(op) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0);
    const Tensor& id_input = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckSegments(data.shape(), id_input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor id_tensor, AsInt64(id_input));
    const std::span<const int64_t> ids = id_tensor.span<int64_t>();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0) return InvalidArgument("segment ids must be >= 0");
      if (i > 0 && ids[i] < ids[i - 1]) return InvalidArgument("segment ids are not increasing");
    }
    const int64_t segments = ids.empty() ? 0 : ids.back() + 1;
    if (segments <= 0 && !ids.empty()) return InvalidArgument("segment ids are too large");
    Shape shape = data.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, segments));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t inner = data.shape().Slice(1, data.rank()).num_elements();
    Status status;
    DispatchDType(data.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      status = Combine(ctx, op_, data.data<T>(), ids, inner, segments, true, out->data<T>());
    });
    return status;
  }

 private:
  const SegmentOp op_;
};

class UnsortedSegmentKernel : public Kernel {
 public:
  explicit UnsortedSegmentKernel(SegmentOp op) : op_(op) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0), id_input = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(UnsortedSegments sizes, CheckUnsortedSegments(ctx));
    const int64_t segments = sizes.count;
    WEIR_ASSIGN_OR_RETURN(Tensor id_tensor, AsInt64(id_input));
    const std::span<const int64_t> ids = id_tensor.span<int64_t>();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= segments) {
        return InvalidArgument("segment_ids", Position(id_input.shape(), static_cast<int64_t>(i)), " = ", ids[i],
                               " is out of range [0, ", segments, ")");
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    if (sizes.shape.num_elements() == 0) return OkStatus();
    Status status;
    DispatchDType(data.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      status = Combine(ctx, op_, data.data<T>(), ids, sizes.inner, segments, false, out->data<T>());
    });
    return status;
  }

 private:
  static std::string Position(const Shape& shape, int64_t i) {
    std::string out;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      out = Cat(i % shape.dim(d), out.empty() ? "" : ",", out);
      i /= shape.dim(d);
    }
    return out.empty() ? out : Cat("[", out, "]");
  }

  const SegmentOp op_;
};

template <typename K, typename Types>
void Add(KernelRegistry& registry, std::string_view name, SegmentOp op, Types types) {
  registry.Add(KernelBuilder(name).Types("T", types),
               [op](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> { return std::make_unique<K>(op); });
}

}  // namespace

void RegisterSegmentKernels(KernelRegistry& registry) {
  Add<SegmentKernel>(registry, "SegmentSum", SegmentOp::kSum, NumberTypes{});
  Add<SegmentKernel>(registry, "SegmentMean", SegmentOp::kMean, NumberTypes{});
  Add<SegmentKernel>(registry, "SegmentProd", SegmentOp::kProd, NumberTypes{});
  Add<SegmentKernel>(registry, "SegmentMax", SegmentOp::kMax, RealTypes{});
  Add<SegmentKernel>(registry, "SegmentMin", SegmentOp::kMin, RealTypes{});
  Add<UnsortedSegmentKernel>(registry, "UnsortedSegmentSum", SegmentOp::kSum, NumberTypes{});
  Add<UnsortedSegmentKernel>(registry, "UnsortedSegmentProd", SegmentOp::kProd, NumberTypes{});
  Add<UnsortedSegmentKernel>(registry, "UnsortedSegmentMax", SegmentOp::kMax, RealTypes{});
  Add<UnsortedSegmentKernel>(registry, "UnsortedSegmentMin", SegmentOp::kMin, RealTypes{});
}

}  // namespace weir
