// Rates that shrink with the sum of squared gradients: Adagrad and its kin.
// The rules are device code, too: they use nothing but the arithmetic of number.h.
#ifndef WEIR_OPS_TRAIN_ADAGRAD_RULES_H_
#define WEIR_OPS_TRAIN_ADAGRAD_RULES_H_

#ifndef __CUDACC_RTC__
#include "weir/ops/train/number.h"
#endif

namespace weir::train {

template <typename N>
struct Adagrad {
  static constexpr int kStates = 2;
  explicit Adagrad(const N* s) : rate(s[0]) {}
  template <bool kUpdateSlots>
  void Step(N* state, N grad) const {
    if constexpr (kUpdateSlots) state[1] = state[1] + Square(grad);
    state[0] = state[0] - grad * rate * Rsqrt(state[1]);
  }
  N rate;
};

template <typename N>
struct AdagradV2 {
  static constexpr int kStates = 2;
  explicit AdagradV2(const N* s) : rate(s[0]), epsilon(s[1]) {}
  template <bool kUpdateSlots>
  void Step(N* state, N grad) const {
    if constexpr (kUpdateSlots) state[1] = state[1] + Square(grad);
    state[0] = state[0] - grad * rate / (Sqrt(state[1]) + epsilon);
  }
  N rate, epsilon;
};

// Dual averaging: the variable follows from the sums alone.
template <typename N>
struct AdagradDA {
  static constexpr int kStates = 3;
  explicit AdagradDA(const N* s) : rate(s[0]), l1(s[1]), l2(s[2]), step(s[3]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] + grad;
    state[2] = state[2] + Square(grad);
    N scale = l2 * step * rate + Sqrt(state[2]);
    if (l1 > N(0)) {
      state[0] = rate * N(-1) * Sign(state[1]) * Max(Abs(state[1]) - l1 * step, N(0)) / scale;
    } else {
      state[0] = rate * state[1] * N(-1) / scale;
    }
  }
  N rate, l1, l2, step;
};

template <typename N>
struct Adadelta {
  static constexpr int kStates = 3;
  explicit Adadelta(const N* s) : rate(s[0]), rho(s[1]), epsilon(s[2]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] * rho + Square(grad) * (N(1) - rho);
    N update = Sqrt(state[2] + epsilon) * Rsqrt(state[1] + epsilon) * grad;
    state[0] = state[0] - update * rate;
    state[2] = state[2] * rho + Square(update) * (N(1) - rho);
  }
  N rate, rho, epsilon;
};

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_ADAGRAD_RULES_H_
