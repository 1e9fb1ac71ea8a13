// Follow the regularised leader. State: variable, sum of squared gradients, linear term.
// The rules are device code, too: they use nothing but the arithmetic of number.h.
#ifndef WEIR_OPS_TRAIN_FTRL_RULES_H_
#define WEIR_OPS_TRAIN_FTRL_RULES_H_

#ifndef __CUDACC_RTC__
#include "weir/ops/train/number.h"
#endif

namespace weir::train {

template <typename N>
struct FtrlRule {
  // `grad` is what the sum of squares sees, `pull` what the linear term sees. kScaled: the linear term is kept times
  // the rate.
  template <bool kScaled>
  void Update(N* state, N grad, N pull) const {
    N sum = state[1] + Square(grad);
    N growth = Root(sum) - Root(state[1]);
    N limit = l1;
    N curvature;
    if constexpr (kScaled) {
      limit = l1 * rate;
      state[2] = state[2] + (pull * rate - growth * state[0]);
      curvature = Root(sum) + N(2) * l2 * rate;
    } else {
      state[2] = state[2] + (pull - growth / rate * state[0]);
      curvature = Root(sum) / rate + N(2) * l2;
    }
    N clipped = Max(Min(state[2], limit), -limit);
    state[0] = (clipped - state[2]) / curvature;
    state[1] = sum;
  }
  N Root(N x) const { return is_square_root ? Sqrt(x) : Pow(x, -power); }

  N rate, l1, l2, power;
  bool is_square_root;
};

template <typename N>
struct Ftrl {
  static constexpr int kStates = 3;
  explicit Ftrl(const N* s) : rule{s[0], s[1], s[2], s[3], !(s[3] < N(-0.5f)) && !(s[3] > N(-0.5f))} {}
  template <bool kScaled>
  void Step(N* state, N grad) const {
    rule.template Update<kScaled>(state, grad, grad);
  }
  FtrlRule<N> rule;
};

template <typename N>
struct FtrlV2 {
  static constexpr int kStates = 3;
  explicit FtrlV2(const N* s)
      : rule{s[0], s[1], s[2], s[4], !(s[4] < N(-0.5f)) && !(s[4] > N(-0.5f))}, shrinkage(s[3]) {}
  template <bool kScaled>
  void Step(N* state, N grad) const {
    rule.template Update<kScaled>(state, grad, grad + N(2) * shrinkage * state[0]);
  }
  FtrlRule<N> rule;
  N shrinkage;
};

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_FTRL_RULES_H_
