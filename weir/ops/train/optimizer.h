// Optimizer kernels. A rule is a class template over the number type, made from the node's scalar inputs in the order
// of the schema (global_step too); it updates one element of the variable and of its slots:
//
//   template <typename N> struct Momentum {
//     static constexpr int kStates = 2;                       // the variable and one slot
//     explicit Momentum(const N* scalars) : ...
//     template <bool kFlag> void Step(N* state, N grad) const;  // kFlag: the attribute that Optimizer names
//   };
//   RegisterOptimizer<Momentum>(registry, {"ApplyMomentum", "ResourceApplyMomentum"}, FloatTypes{}, {.flag =
//   "use_nesterov"});
//
// Finding the variables, locks, checks, rows and threads are shared by all rules.
#ifndef WEIR_OPS_TRAIN_OPTIMIZER_H_
#define WEIR_OPS_TRAIN_OPTIMIZER_H_

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "weir/device/cpu/vector.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/train/number.h"

namespace weir::train {

// Updates n elements of each state (at most kMaxStates); `scalars` as inputs, of the element type.
inline constexpr int kMaxStates = 4;
inline constexpr int kMaxScalars = 8;
using UpdateLoop = void (*)(void* const* states, const void* grad, int64_t n, const void* scalars);

struct UpdateEntry {
  DType dtype;
  UpdateLoop loop[2];  // without and with the flag
};

struct OptimizerOptions {
  std::string_view flag;  // attribute that selects the loop; empty if there is none
  // Called with the scalar inputs' values; its error is the kernel's.
  enum class Check { kNone, kFtrl, kProximal };
  Check check = Check::kNone;
  // Whether a bad index keeps all rows from being updated, not only its own and those behind it.
  bool all_rows_or_none = false;
};

void RegisterOptimizerTable(KernelRegistry& registry, std::string_view op, int num_states,
                            std::span<const UpdateEntry> table, const OptimizerOptions& options);

namespace internal {

template <template <typename> class Rule, typename T, bool kFlag>
[[gnu::always_inline]] inline void UpdateBody(void* const* states, const void* grad, int64_t n, const void* scalars) {
  using N = NumberOf<T>;
  constexpr int kStates = Rule<N>::kStates;
  N numbers[kMaxScalars];
  for (int i = 0; i < kMaxScalars; ++i) numbers[i] = Load(static_cast<const T*>(scalars)[i]);
  const Rule<N> rule(numbers);
  T* state[kStates];
  for (int k = 0; k < kStates; ++k) state[k] = static_cast<T*>(states[k]);
  const T* g = static_cast<const T*>(grad);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    N element[kStates];
    for (int k = 0; k < kStates; ++k) element[k] = Load(state[k][i]);
    rule.template Step<kFlag>(element, Load(g[i]));
    for (int k = 0; k < kStates; ++k) state[k][i] = Store<T>(element[k]);
  }
}

template <template <typename> class Rule, typename T, bool kFlag>
void Update(void* const* states, const void* grad, int64_t n, const void* scalars) {
  UpdateBody<Rule, T, kFlag>(states, grad, n, scalars);
}
template <template <typename> class Rule, typename T, bool kFlag>
WEIR_VECTOR void VectorUpdate(void* const* states, const void* grad, int64_t n, const void* scalars) {
  UpdateBody<Rule, T, kFlag>(states, grad, n, scalars);
}
template <template <typename> class Rule, typename T, bool kFlag>
constexpr UpdateLoop ChooseUpdate() {
  if constexpr (std::is_same_v<T, float>) {
    return &VectorUpdate<Rule, T, kFlag>;
  } else {
    return &Update<Rule, T, kFlag>;
  }
}

template <template <typename> class Rule, typename... Ts>
inline constexpr UpdateEntry kTable[] = {
    {kDTypeOf<Ts>, {ChooseUpdate<Rule, Ts, false>(), ChooseUpdate<Rule, Ts, true>()}}...};

}  // namespace internal

template <template <typename> class Rule, typename... Ts>
void RegisterOptimizer(KernelRegistry& registry, std::initializer_list<std::string_view> ops, TypeList<Ts...>,
                       const OptimizerOptions& options = {}) {
  static_assert(Rule<double>::kStates <= kMaxStates);
  for (std::string_view op : ops) {
    RegisterOptimizerTable(registry, op, Rule<double>::kStates, internal::kTable<Rule, Ts...>, options);
  }
}

using RealFloats = FloatTypes;
using FloatsAndComplexes = decltype(FloatTypes{} + ComplexTypes{});

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_OPTIMIZER_H_
