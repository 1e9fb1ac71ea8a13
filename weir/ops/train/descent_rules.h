// Steps along the gradient: plain, with momentum, scaled by agreeing signs.
// The rules are device code, too: they use nothing but the arithmetic of number.h.
#ifndef WEIR_OPS_TRAIN_DESCENT_RULES_H_
#define WEIR_OPS_TRAIN_DESCENT_RULES_H_

#ifndef __CUDACC_RTC__
#include "weir/ops/train/number.h"
#endif

namespace weir::train {

template <typename N>
struct GradientDescent {
  static constexpr int kStates = 1;
  explicit GradientDescent(const N* s) : rate(s[0]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[0] = state[0] - grad * rate;
  }
  N rate;
};

template <typename N>
struct Momentum {
  static constexpr int kStates = 2;
  explicit Momentum(const N* s) : rate(s[0]), momentum(s[1]) {}
  template <bool kNesterov>
  void Step(N* state, N grad) const {
    state[1] = state[1] * momentum + grad;
    if constexpr (kNesterov) {
      state[0] = state[0] - (grad * rate + state[1] * momentum * rate);
    } else {
      state[0] = state[0] - state[1] * rate;
    }
  }
  N rate, momentum;
};

// The slot holds the step itself, rate included.
template <typename N>
struct KerasMomentum {
  static constexpr int kStates = 2;
  explicit KerasMomentum(const N* s) : rate(s[0]), momentum(s[1]) {}
  template <bool kNesterov>
  void Step(N* state, N grad) const {
    state[1] = state[1] * momentum - grad * rate;
    if constexpr (kNesterov) {
      state[0] = state[0] + (state[1] * momentum - grad * rate);
    } else {
      state[0] = state[0] + state[1];
    }
  }
  N rate, momentum;
};

template <typename N>
struct AddSign {
  static constexpr int kStates = 2;
  explicit AddSign(const N* s) : rate(s[0]), alpha(s[1]), sign_decay(s[2]), beta(s[3]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] * beta + grad * (N(1) - beta);
    N agreement = Sign(grad) * Sign(state[1]);
    state[0] = state[0] - rate * (alpha + sign_decay * agreement) * grad;
  }
  N rate, alpha, sign_decay, beta;
};

template <typename N>
struct PowerSign {
  static constexpr int kStates = 2;
  explicit PowerSign(const N* s) : rate(s[0]), logbase(s[1]), sign_decay(s[2]), beta(s[3]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] * beta + grad * (N(1) - beta);
    N agreement = Sign(grad) * Sign(state[1]);
    state[0] = state[0] - rate * Exp(logbase * sign_decay * agreement) * grad;
  }
  N rate, logbase, sign_decay, beta;
};

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_DESCENT_RULES_H_
