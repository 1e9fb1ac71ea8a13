// RMSProp, plain and centred. The rules for rows differ from those for whole variables in their rounding.
// The rules are device code, too: they use nothing but the arithmetic of number.h.
#ifndef WEIR_OPS_TRAIN_RMSPROP_RULES_H_
#define WEIR_OPS_TRAIN_RMSPROP_RULES_H_

#ifndef __CUDACC_RTC__
#include "weir/ops/train/number.h"
#endif

namespace weir::train {

template <typename N>
struct RmsProp {
  static constexpr int kStates = 3;
  explicit RmsProp(const N* s) : rate(s[0]), rho(s[1]), momentum(s[2]), epsilon(s[3]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] + (Square(grad) - state[1]) * (N(1) - rho);
    state[2] = state[2] * momentum + (grad * rate) / Sqrt(state[1] + epsilon);
    state[0] = state[0] - state[2];
  }
  N rate, rho, momentum, epsilon;
};

template <typename N>
struct RmsPropRows : RmsProp<N> {
  using RmsProp<N>::RmsProp;
  template <bool>
  void Step(N* state, N grad) const {
    state[1] = state[1] * this->rho + Square(grad) * (N(1) - this->rho);
    state[2] = state[2] * this->momentum + Rsqrt(state[1] + this->epsilon) * this->rate * grad;
    state[0] = state[0] - state[2];
  }
};

// State: variable, mean gradient, mean square, momentum.
template <typename N>
struct CenteredRmsProp {
  static constexpr int kStates = 4;
  explicit CenteredRmsProp(const N* s) : rate(s[0]), rho(s[1]), momentum(s[2]), epsilon(s[3]) {}
  template <bool>
  void Step(N* state, N grad) const {
    state[2] = state[2] + (Square(grad) - state[2]) * (N(1) - rho);
    state[1] = state[1] + (grad - state[1]) * (N(1) - rho);
    N variance = (state[2] - Square(state[1])) + epsilon;
    state[3] = state[3] * momentum + (grad * rate) / Sqrt(variance);
    state[0] = state[0] - state[3];
  }
  N rate, rho, momentum, epsilon;
};

template <typename N>
struct CenteredRmsPropRows : CenteredRmsProp<N> {
  using CenteredRmsProp<N>::CenteredRmsProp;
  template <bool>
  void Step(N* state, N grad) const {
    state[2] = state[2] * this->rho + Square(grad) * (N(1) - this->rho);
    state[1] = state[1] * this->rho + grad * (N(1) - this->rho);
    N variance = state[2] + this->epsilon - Square(state[1]);
    state[3] = state[3] * this->momentum + Rsqrt(variance) * this->rate * grad;
    state[0] = state[0] - state[3];
  }
};

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_RMSPROP_RULES_H_
