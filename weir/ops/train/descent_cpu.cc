// Steps along the gradient: plain, with momentum, scaled by agreeing signs.
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/register.h"

namespace weir {
namespace {

using namespace train;  // NOLINT: the rules' arithmetic

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

}  // namespace

void RegisterDescentKernels(KernelRegistry& registry) {
  RegisterOptimizer<GradientDescent>(registry, {"ApplyGradientDescent", "ResourceApplyGradientDescent"},
                                     FloatsAndComplexes{});
  RegisterOptimizer<Momentum>(
      registry, {"ApplyMomentum", "ResourceApplyMomentum", "SparseApplyMomentum", "ResourceSparseApplyMomentum"},
      FloatsAndComplexes{}, {.flag = "use_nesterov"});
  RegisterOptimizer<KerasMomentum>(registry, {"ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum"},
                                   FloatsAndComplexes{}, {.flag = "use_nesterov"});
  RegisterOptimizer<AddSign>(registry, {"ApplyAddSign", "ResourceApplyAddSign"}, RealFloats{});
  RegisterOptimizer<PowerSign>(registry, {"ApplyPowerSign", "ResourceApplyPowerSign"}, RealFloats{});
}

}  // namespace weir
