// Rows combined by segment: SegmentX over sorted ids, UnsortedSegmentX over any.
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/register.h"

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
A StartValue(SegmentOp op) {
  if constexpr (!kIsComplex<A>) {
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

// Adds every row of `data` to the accumulators of its segment; negative ids are left out.
template <typename T>
void Combine(SegmentOp op, const T* data, const Dims& ids, int64_t inner, int64_t segments, bool gaps_are_zero,
             T* out) {
  using A = ComputeType<T>;
  std::vector<A> sums(segments * inner, StartValue<T, A>(op));
  std::vector<int64_t> counts(segments, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) continue;
    TakeRow(op, data + static_cast<int64_t>(i) * inner, sums.data() + ids[i] * inner, inner);
    ++counts[ids[i]];
  }
  for (int64_t s = 0; s < segments; ++s) {
    const bool zero = gaps_are_zero && counts[s] == 0 && op != SegmentOp::kProd;
    for (int64_t i = 0; i < inner; ++i) {
      A value = zero ? A(0) : sums[s * inner + i];
      if (op == SegmentOp::kMean && counts[s] > 0) value = Divide(value, counts[s]);
      out[s * inner + i] = static_cast<T>(value);
    }
  }
}

class SegmentKernel : public Kernel {
 public:
  explicit SegmentKernel(SegmentOp op) : op_(op) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0);
    const Tensor& id_input = ctx.input(1);
    if (!id_input.shape().IsVector()) return InvalidArgument("segment_ids should be a vector.");
    if (data.rank() < 1 || data.dim(0) != id_input.num_elements()) {
      return InvalidArgument("segment_ids should be the same size as dimension 0 of input.");
    }
    WEIR_ASSIGN_OR_RETURN(Dims ids, IntElements(id_input, "segment_ids"));
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
    DispatchDType(data.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Combine(op_, data.data<T>(), ids, inner, segments, true, out->data<T>());
    });
    return OkStatus();
  }

 private:
  const SegmentOp op_;
};

class UnsortedSegmentKernel : public Kernel {
 public:
  explicit UnsortedSegmentKernel(SegmentOp op) : op_(op) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0), id_input = ctx.input(1);
    if (!ctx.input(2).shape().IsScalar()) {
      return InvalidArgument("num_segments should be a scalar, not shape ", ctx.input(2).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(int64_t segments, IntScalar(ctx.input(2), "num_segments"));
    if (segments < 0) return InvalidArgument("Input num_segments == ", segments, " must not be negative.");
    const int id_rank = id_input.rank();
    if (data.rank() < id_rank || !(data.shape().Slice(0, id_rank) == id_input.shape())) {
      return InvalidArgument("data.shape = ", data.shape().ToString(),
                             " does not start with segment_ids.shape = ", id_input.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Dims ids, IntElements(id_input, "segment_ids"));
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= segments) {
        return InvalidArgument("segment_ids", Position(id_input.shape(), static_cast<int64_t>(i)), " = ", ids[i],
                               " is out of range [0, ", segments, ")");
      }
    }
    const Shape inner_shape = data.shape().Slice(id_rank, data.rank());
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape({segments}).Concat(inner_shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    DispatchDType(data.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Combine(op_, data.data<T>(), ids, inner_shape.num_elements(), segments, false, out->data<T>());
    });
    return OkStatus();
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
