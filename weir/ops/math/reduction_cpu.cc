// Sum, Mean, Prod, Max, Min, EuclideanNorm, All, Any.
#include <cmath>
#include <limits>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/device/cpu/vector.h"
#include "weir/ops/math/reduction.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// An operation has: Start<A>(), Take(A, x), Merge(A, A), Finish<A>(A, count). One with TakeLanes does most of a row of
// floats by it; where it misses NaNs it adds up the elements too, which tells.
struct SumOp {
  static constexpr bool kKeepsSingle = true;
  static constexpr int kVectors = 1;  // of partial results, see Loops
  template <typename A>
  static A Start() {
    return A(0);
  }
  template <typename A>
  static A Take(A a, A x) {
    return WrapAdd(a, x);
  }
  [[gnu::always_inline]] static void TakeLanes(const Lanes& x, Lanes& a, Lanes&) { a = a + x; }
  template <typename A>
  static A Merge(A a, A b) {
    return WrapAdd(a, b);
  }
  template <typename A>
  static A Finish(A a, int64_t) {
    return a;
  }
};

struct MeanOp : SumOp {
  template <typename A>
  static A Finish(A a, int64_t count) {
    if constexpr (std::is_integral_v<A>) {
      return count == 0 ? A(0) : a / static_cast<A>(count);
    } else if constexpr (kIsComplex<A>) {
      return count == 0 ? A(0) : a / static_cast<typename A::value_type>(count);
    } else {
      return a / static_cast<A>(count);
    }
  }
};

// Means of integers are added up in 64 bits.
template <typename Op, typename T>
struct AccumulatorOf {
  using type = ComputeType<T>;
};
template <typename T>
requires(std::is_integral_v<T>) struct AccumulatorOf<MeanOp, T> {
  using type = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
};

struct ProdOp {
  static constexpr bool kKeepsSingle = true;
  static constexpr int kVectors = 1;
  template <typename A>
  static A Start() {
    return A(1);
  }
  template <typename A>
  static A Take(A a, A x) {
    return WrapMul(a, x);
  }
  template <typename A>
  static A Merge(A a, A b) {
    return WrapMul(a, b);
  }
  template <typename A>
  static A Finish(A a, int64_t) {
    return a;
  }
};

struct MaxOp {
  static constexpr bool kKeepsSingle = true;
  static constexpr int kVectors = 4;  // a step of one waits long for the step before
  template <typename A>
  static A Start() {
    if constexpr (std::is_floating_point_v<A>) {
      return -std::numeric_limits<A>::infinity();
    } else {
      return std::numeric_limits<A>::lowest();
    }
  }
  template <typename A>
  static A Take(A a, A x) {
    return a > x || a != a ? a : x;
  }
  [[gnu::always_inline]] static void TakeLanes(const Lanes& x, Lanes& a, Lanes& sum) {
    a = x > a ? x : a;
    sum = sum + x;
  }
  template <typename A>
  static A Merge(A a, A b) {
    return Take(a, b);
  }
  template <typename A>
  static A Finish(A a, int64_t) {
    return a;
  }
};

struct MinOp {
  static constexpr bool kKeepsSingle = true;
  static constexpr int kVectors = 4;  // a step of one waits long for the step before
  template <typename A>
  static A Start() {
    if constexpr (std::is_floating_point_v<A>) {
      return std::numeric_limits<A>::infinity();
    } else {
      return std::numeric_limits<A>::max();
    }
  }
  template <typename A>
  static A Take(A a, A x) {
    return a < x || a != a ? a : x;
  }
  [[gnu::always_inline]] static void TakeLanes(const Lanes& x, Lanes& a, Lanes& sum) {
    a = x < a ? x : a;
    sum = sum + x;
  }
  template <typename A>
  static A Merge(A a, A b) {
    return Take(a, b);
  }
  template <typename A>
  static A Finish(A a, int64_t) {
    return a;
  }
};

struct NormOp {
  static constexpr bool kKeepsSingle = false;
  static constexpr int kVectors = 1;
  template <typename A>
  static A Start() {
    return A(0);
  }
  template <typename A>
  static A Take(A a, A x) {
    if constexpr (kIsComplex<A>) {
      return a + A(std::norm(x), 0);
    } else {
      return WrapAdd(a, WrapMul(x, x));
    }
  }
  template <typename A>
  static A Merge(A a, A b) {
    return WrapAdd(a, b);
  }
  template <typename A>
  static A Finish(A a, int64_t) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(std::sqrt(static_cast<double>(a)));
    } else {
      return std::sqrt(a);
    }
  }
};

struct AllOp {
  static constexpr bool kKeepsSingle = true;
  static constexpr int kVectors = 1;
  template <typename A>
  static A Start() {
    return true;
  }
  static bool Take(bool a, bool x) { return a & x; }
  static bool Merge(bool a, bool b) { return a & b; }
  static bool Finish(bool a, int64_t) { return a; }
};

struct AnyOp {
  static constexpr bool kKeepsSingle = true;
  static constexpr int kVectors = 1;
  template <typename A>
  static A Start() {
    return false;
  }
  static bool Take(bool a, bool x) { return a | x; }
  static bool Merge(bool a, bool b) { return a | b; }
  static bool Finish(bool a, int64_t) { return a; }
};

template <typename Op, typename T>
struct Loops {
  using A = typename AccumulatorOf<Op, T>::type;
  static void Start(void* accumulators, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<A*>(accumulators)[i] = Op::template Start<A>();
  }
  // Partial results, so that the compiler can use vectors; halves of a long run apart, so that a sum of floats loses
  // little.
  static constexpr int kVector = 16;
  static constexpr int kParts = kVector * Op::kVectors;
  [[gnu::always_inline]] static A LeafBody(const T* from, int64_t n) {
    A part[kParts];
    for (A& p : part) p = Op::template Start<A>();
    int64_t i = 0;
    for (; i + kParts <= n; i += kParts) {
      for (int k = 0; k < kParts; ++k) part[k] = Op::Take(part[k], static_cast<A>(Widen(from[i + k])));
    }
    for (; kParts > kVector && i + kVector <= n; i += kVector) {
      for (int k = 0; k < kVector; ++k) part[k] = Op::Take(part[k], static_cast<A>(Widen(from[i + k])));
    }
    for (; i < n; ++i) part[i % kVector] = Op::Take(part[i % kVector], static_cast<A>(Widen(from[i])));
    for (int half = kParts / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) part[k] = Op::Merge(part[k], part[k + half]);
    }
    return part[0];
  }
  // The same of floats, with the partial results in registers.
  [[gnu::always_inline]] static float LanesBody(const float* from, int64_t n) {
    constexpr int kWidth = 8, kCount = 8;
    Lanes part[kCount], sum[kCount];
    for (Lanes& p : part) p = Lanes{} + Op::template Start<float>();
    for (Lanes& p : sum) p = Lanes{};
    int64_t i = 0;
    for (; i + kWidth * kCount <= n; i += kWidth * kCount) {
      WEIR_UNROLL
      for (int k = 0; k < kCount; ++k) {
        Lanes x;
        LoadLanes(from + i + k * kWidth, x);
        Op::TakeLanes(x, part[k], sum[k]);
      }
    }
    for (; i + kWidth <= n; i += kWidth) {
      Lanes x;
      LoadLanes(from + i, x);
      Op::TakeLanes(x, part[0], sum[0]);
    }
    WEIR_UNROLL
    for (int half = kCount / 2; half > 0; half /= 2) {
      WEIR_UNROLL
      for (int k = 0; k < half; ++k) {
        Lanes ignored;
        Op::TakeLanes(part[k + half], part[k], ignored);
        sum[k] = sum[k] + sum[k + half];
      }
    }
    float result = part[0][0], total = sum[0][0];
    WEIR_UNROLL
    for (int k = 1; k < kWidth; ++k) {
      result = Op::Take(result, part[0][k]);
      total += sum[0][k];
    }
    if (total != total) return LeafBody(from, n);  // a NaN, or infinities of both signs
    for (; i < n; ++i) result = Op::Take(result, from[i]);
    return result;
  }
  static constexpr bool kHasLanes = std::is_same_v<T, float> && requires { &Op::TakeLanes; };

  static A Leaf(const T* from, int64_t n) { return LeafBody(from, n); }
  WEIR_VECTOR static A VectorLeaf(const T* from, int64_t n) {
    if constexpr (kHasLanes) {
      return LanesBody(from, n);
    } else {
      return LeafBody(from, n);
    }
  }
  static A Reduce(const T* from, int64_t n) {
    if (n > (kHasLanes ? ReductionLoops::kLongestRow : 1024)) {
      const int64_t half = n / (2 * kParts) * kParts;
      const A first = Reduce(from, half);  // memory is best read forwards
      return Op::Merge(first, Reduce(from + half, n - half));
    }
    if constexpr (kIsVectorType<T>) {
      return VectorLeaf(from, n);
    } else {
      return Leaf(from, n);
    }
  }
  static void TakeRun(const void* x, int64_t n, void* accumulator) {
    const T* from = static_cast<const T*>(x);
    A* to = static_cast<A*>(accumulator);
    if (n >= 16) {
      *to = Op::Merge(*to, Reduce(from, n));
    } else {
      for (int64_t i = 0; i < n; ++i) *to = Op::Take(*to, static_cast<A>(Widen(from[i])));
    }
  }
  [[gnu::always_inline]] static void RowsBody(const void* x, int64_t n, void* accumulators) {
    const T* from = static_cast<const T*>(x);
    A* to = static_cast<A*>(accumulators);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = Op::Take(to[i], static_cast<A>(Widen(from[i])));
  }
  static void TakeRows(const void* x, int64_t n, void* accumulators) { RowsBody(x, n, accumulators); }
  WEIR_VECTOR static void VectorTakeRows(const void* x, int64_t n, void* accumulators) { RowsBody(x, n, accumulators); }
  static constexpr auto ChooseTakeRows() {
    if constexpr (kIsVectorType<T>) {
      return &VectorTakeRows;
    } else {
      return &TakeRows;
    }
  }
  static void Merge(const void* other, void* accumulator) {
    A* to = static_cast<A*>(accumulator);
    *to = Op::Merge(*to, *static_cast<const A*>(other));
  }
  static void Finish(const void* accumulators, void* out, int64_t n, int64_t count) {
    for (int64_t i = 0; i < n; ++i) {
      static_cast<T*>(out)[i] = static_cast<T>(Op::Finish(static_cast<const A*>(accumulators)[i], count));
    }
  }
  WEIR_VECTOR static void WholeRows(const void* x, int64_t rows, int64_t n, void* out) {
    if constexpr (kHasLanes) {
      const float* from = static_cast<const float*>(x);
      for (int64_t i = 0; i < rows; ++i) static_cast<float*>(out)[i] = Op::Finish(LanesBody(from + i * n, n), n);
    }
  }
  static constexpr ReductionLoops kTable = {kDTypeOf<T>, sizeof(A),        Start,
                                            TakeRun,     ChooseTakeRows(), Merge,
                                            Finish,      Op::kKeepsSingle, kHasLanes ? &WholeRows : nullptr};
};

template <typename Op, typename... Ts>
inline constexpr ReductionLoops kReductionTable[] = {Loops<Op, Ts>::kTable...};

template <typename Op, typename... Ts>
void Add(KernelRegistry& registry, std::string_view op, TypeList<Ts...>) {
  RegisterReduction(registry, op, kReductionTable<Op, Ts...>);
}

// One row, as the kernel reduces it.
template <typename Op>
void ReduceRow(const float* x, int64_t n, float* out) {
  using Row = Loops<Op, float>;
  typename Row::A accumulator;
  Row::Start(&accumulator, 1);
  Row::TakeRun(x, n, &accumulator);
  Row::Finish(&accumulator, out, 1, n);
}

template <typename Op>
void OfferRow(std::string_view op) {
  FloatLoop loop;
  loop.row = &ReduceRow<Op>;
  loop.cost_ns = 0.1;
  loop.reduces = true;
  OfferFloatLoop(op, loop);
}

}  // namespace

void RegisterReductionKernels(KernelRegistry& registry) {
  OfferRow<SumOp>("Sum");
  OfferRow<MeanOp>("Mean");
  OfferRow<ProdOp>("Prod");
  OfferRow<MaxOp>("Max");
  OfferRow<MinOp>("Min");
  Add<SumOp>(registry, "Sum", NumberTypes{});
  Add<MeanOp>(registry, "Mean", NumberTypes{});
  Add<ProdOp>(registry, "Prod", NumberTypes{});
  Add<MaxOp>(registry, "Max", RealTypes{});
  Add<MinOp>(registry, "Min", RealTypes{});
  Add<NormOp>(registry, "EuclideanNorm", NumberTypes{});
  Add<AllOp>(registry, "All", TypeList<bool>{});
  Add<AnyOp>(registry, "Any", TypeList<bool>{});
}

}  // namespace weir
