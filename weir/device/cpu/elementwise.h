// Elementwise kernels. An operation is a type with a static template `Do` on values:
//
//   struct AddOp { template <typename T> static T Do(T a, T b) { return WrapAdd(a, b); } };
//   RegisterBinary<AddOp>(registry, "AddV2", NumberTypes{});
//
// Only the loop over a run of elements is compiled for each operation and type, that of the common types for several
// generations of the processor (vector.h); broadcasting, reuse of memory and threads are shared by all. Half and
// bfloat16 reach `Do` as float. A unary operation may have a loop of its own for floats, `kFloats`.
#ifndef WEIR_DEVICE_CPU_ELEMENTWISE_H_
#define WEIR_DEVICE_CPU_ELEMENTWISE_H_

#include <span>
#include <string_view>

#include "weir/base/export.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/vector.h"
#include "weir/framework/kernel_registry.h"

namespace WEIR_PUBLIC weir {

// n elements; `out` may be the memory of `x`.
using UnaryLoop = void (*)(const void* x, void* out, int64_t n);
// Steps are 0 (the same element all along) or 1. `out` may be the memory of an operand whose step is 1.
using BinaryLoop = void (*)(const void* a, const void* b, void* out, int64_t n, int a_step, int b_step);

// The loop for inputs of type `dtype`; it gives elements of type `result`.
struct UnaryEntry {
  DType dtype;
  DType result;
  UnaryLoop loop;
};
struct BinaryEntry {
  DType dtype;
  DType result;
  BinaryLoop loop;
};

struct ElementwiseOptions {
  double cost_ns = 0.5;  // of one element
  // Called before a loop that has elements to compute; its error is the kernel's.
  Status (*check)(const Tensor& a, const Tensor& b) = nullptr;
  // The attribute that selects the loop; empty if the op has only one type.
  std::string_view type_attr = "T";
};

void RegisterUnaryTable(KernelRegistry& registry, std::string_view op, std::span<const UnaryEntry> table,
                        const ElementwiseOptions& options = {});
void RegisterBinaryTable(KernelRegistry& registry, std::string_view op, std::span<const BinaryEntry> table,
                         const ElementwiseOptions& options = {});

// The entry of a table for a node; UNIMPLEMENTED if there is none for its input's and output's types.
StatusOr<BinaryLoop> FindLoop(std::span<const BinaryEntry> table, const KernelInit& init);
StatusOr<UnaryLoop> FindLoop(std::span<const UnaryEntry> table, const KernelInit& init);

// Runs a loop over all elements: allocates output 0 (or takes over an input's memory). For kernels with more to do.
Status RunUnary(KernelContext& ctx, UnaryLoop loop, double cost_ns);
Status RunBinary(KernelContext& ctx, BinaryLoop loop, const ElementwiseOptions& options);

namespace elementwise_internal {

// The element type of the result of an operation on T: what `Do` gives, narrowed back to T if T was widened.
template <typename T, typename Result>
using OutputType = std::conditional_t<kIsSmallFloat<T> && std::is_same_v<Result, float>, T, Result>;

template <typename Op, typename T>
using UnaryResult = OutputType<T, decltype(Op::Do(Widen(std::declval<T>())))>;
template <typename Op, typename T>
using BinaryResult = OutputType<T, decltype(Op::Do(Widen(std::declval<T>()), Widen(std::declval<T>())))>;

template <typename Op, typename T>
[[gnu::always_inline]] inline void UnaryBody(const void* x, void* out, int64_t n) {
  using Out = UnaryResult<Op, T>;
  const T* from = static_cast<const T*>(x);
  Out* to = static_cast<Out*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(Op::Do(Widen(from[i])));
}

template <typename Op, typename T>
[[gnu::always_inline]] inline void BinaryBody(const void* a, const void* b, void* out, int64_t n, int a_step,
                                              int b_step) {
  using Out = BinaryResult<Op, T>;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  Out* to = static_cast<Out*>(out);
  if (a_step != 0 && b_step != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(Op::Do(Widen(x[i]), Widen(y[i])));
  } else if (a_step != 0) {
    const auto y0 = Widen(*y);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(Op::Do(Widen(x[i]), y0));
  } else if (b_step != 0) {
    const auto x0 = Widen(*x);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(Op::Do(x0, Widen(y[i])));
  } else {
    const Out value = static_cast<Out>(Op::Do(Widen(*x), Widen(*y)));
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  }
}

template <typename Op, typename T>
void UnaryRun(const void* x, void* out, int64_t n) {
  UnaryBody<Op, T>(x, out, n);
}
template <typename Op, typename T>
WEIR_VECTOR void UnaryVectorRun(const void* x, void* out, int64_t n) {
  UnaryBody<Op, T>(x, out, n);
}
template <typename Op, typename T>
void BinaryRun(const void* a, const void* b, void* out, int64_t n, int a_step, int b_step) {
  BinaryBody<Op, T>(a, b, out, n, a_step, b_step);
}
template <typename Op, typename T>
WEIR_VECTOR void BinaryVectorRun(const void* a, const void* b, void* out, int64_t n, int a_step, int b_step) {
  BinaryBody<Op, T>(a, b, out, n, a_step, b_step);
}

template <typename Op, typename T>
constexpr UnaryLoop ChooseUnary() {
  if constexpr (!IsBuilt(kDTypeOf<T>)) {
    return nullptr;  // no node has this type
  } else if constexpr (std::is_same_v<T, float> && requires { Op::kFloats; }) {
    return Op::kFloats;
  } else if constexpr (kIsVectorType<T>) {
    return &UnaryVectorRun<Op, T>;
  } else {
    return &UnaryRun<Op, T>;
  }
}
template <typename Op, typename T>
constexpr BinaryLoop ChooseBinary() {
  if constexpr (!IsBuilt(kDTypeOf<T>)) {
    return nullptr;
  } else if constexpr (kIsVectorType<T>) {
    return &BinaryVectorRun<Op, T>;
  } else {
    return &BinaryRun<Op, T>;
  }
}

template <typename Op, typename... Ts>
inline constexpr UnaryEntry kUnaryTable[] = {{kDTypeOf<Ts>, kDTypeOf<UnaryResult<Op, Ts>>, ChooseUnary<Op, Ts>()}...};
template <typename Op, typename... Ts>
inline constexpr BinaryEntry kBinaryTable[] = {
    {kDTypeOf<Ts>, kDTypeOf<BinaryResult<Op, Ts>>, ChooseBinary<Op, Ts>()}...};

}  // namespace elementwise_internal

// The table of an operation, for kernels of their own.
template <typename Op, typename... Ts>
std::span<const BinaryEntry> BinaryTable(TypeList<Ts...>) {
  return elementwise_internal::kBinaryTable<Op, Ts...>;
}

template <typename Op, typename... Ts>
void RegisterUnary(KernelRegistry& registry, std::string_view op, TypeList<Ts...>,
                   const ElementwiseOptions& options = {}) {
  RegisterUnaryTable(registry, op, elementwise_internal::kUnaryTable<Op, Ts...>, options);
}

template <typename Op, typename... Ts>
void RegisterBinary(KernelRegistry& registry, std::string_view op, TypeList<Ts...>,
                    const ElementwiseOptions& options = {}) {
  RegisterBinaryTable(registry, op, elementwise_internal::kBinaryTable<Op, Ts...>, options);
}

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_ELEMENTWISE_H_
