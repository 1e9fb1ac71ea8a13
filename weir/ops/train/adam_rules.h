// Adam and its kin: running means of the gradient and of its square.
// The rules are device code, too: they use nothing but the arithmetic of number.h.
#ifndef WEIR_OPS_TRAIN_ADAM_RULES_H_
#define WEIR_OPS_TRAIN_ADAM_RULES_H_

#ifndef __CUDACC_RTC__
#include "weir/ops/train/number.h"
#endif

namespace weir::train {

// What Adam's variants share; scalars: beta1_power, beta2_power, lr, beta1, beta2, epsilon.
template <typename N>
struct AdamMeans {
  explicit AdamMeans(const N* s)
      : alpha(s[2] * Sqrt(N(1) - s[1]) / (N(1) - s[0])),
        beta1(s[3]),
        keep1(N(1) - s[3]),
        keep2(N(1) - s[4]),
        epsilon(s[5]) {}
  void Update(N* state, N grad) const {
    state[1] = state[1] + (grad - state[1]) * keep1;
    state[2] = state[2] + (Square(grad) - state[2]) * keep2;
  }
  N alpha, beta1, keep1, keep2, epsilon;
};

template <typename N>
struct Adam {
  static constexpr int kStates = 3;
  explicit Adam(const N* s) : means(s) {}
  template <bool kNesterov>
  void Step(N* state, N grad) const {
    means.Update(state, grad);
    N direction = state[1];
    if constexpr (kNesterov) direction = grad * means.keep1 + means.beta1 * state[1];
    state[0] = state[0] - (direction * means.alpha) / (Sqrt(state[2]) + means.epsilon);
  }
  AdamMeans<N> means;
};

template <typename N>
struct AdamWithAmsgrad {
  static constexpr int kStates = 4;
  explicit AdamWithAmsgrad(const N* s) : means(s) {}
  template <bool>
  void Step(N* state, N grad) const {
    means.Update(state, grad);
    state[3] = Max(state[3], state[2]);
    state[0] = state[0] - (state[1] * means.alpha) / (Sqrt(state[3]) + means.epsilon);
  }
  AdamMeans<N> means;
};

template <typename N>
struct AdaMax {
  static constexpr int kStates = 3;
  explicit AdaMax(const N* s) : alpha(s[1] / (N(1) - s[0])), keep1(N(1) - s[2]), beta2(s[3]), epsilon(s[4]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] + (grad - state[1]) * keep1;
    state[2] = Max(beta2 * state[2], Abs(grad));
    state[0] = state[0] - alpha * (state[1] / (state[2] + epsilon));
  }
  N alpha, keep1, beta2, epsilon;
};

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_ADAM_RULES_H_
