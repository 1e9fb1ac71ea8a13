// Gradient steps followed by the proximal step of l1 and l2 regularisation.
// The rules are device code, too: they use nothing but the arithmetic of number.h.
#ifndef WEIR_OPS_TRAIN_PROXIMAL_RULES_H_
#define WEIR_OPS_TRAIN_PROXIMAL_RULES_H_

#ifndef __CUDACC_RTC__
#include "weir/ops/train/number.h"
#endif

namespace weir::train {

template <typename N>
N Shrink(N x, N rate, N l1, N l2) {
  if (l1 > N(0)) return Sign(x) * Max(Abs(x) - rate * l1, N(0)) / (N(1) + l2 * rate);
  return x / (N(1) + l2 * rate);
}

template <typename N>
struct ProximalGradientDescent {
  static constexpr int kStates = 1;
  explicit ProximalGradientDescent(const N* s) : rate(s[0]), l1(s[1]), l2(s[2]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[0] = Shrink(state[0] - grad * rate, rate, l1, l2);
  }
  N rate, l1, l2;
};

template <typename N>
struct ProximalAdagrad {
  static constexpr int kStates = 2;
  explicit ProximalAdagrad(const N* s) : rate(s[0]), l1(s[1]), l2(s[2]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] + Square(grad);
    N own_rate = rate * Rsqrt(state[1]);
    state[0] = Shrink(state[0] - grad * own_rate, own_rate, l1, l2);
  }
  N rate, l1, l2;
};

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_PROXIMAL_RULES_H_
