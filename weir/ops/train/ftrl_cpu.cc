// Follow the regularised leader. State: variable, sum of squared gradients, linear term.
#include "weir/ops/train/optimizer.h"
#include "weir/ops/train/register.h"

namespace weir {
namespace {

using namespace train;  // NOLINT: the rules' arithmetic

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

}  // namespace

void RegisterFtrlKernels(KernelRegistry& registry) {
  const OptimizerOptions dense{.flag = "multiply_linear_by_lr"};
  const OptimizerOptions rows{.flag = "multiply_linear_by_lr", .check = OptimizerOptions::Check::kFtrl};
  RegisterOptimizer<Ftrl>(registry, {"ApplyFtrl", "ResourceApplyFtrl"}, RealFloats{}, dense);
  RegisterOptimizer<Ftrl>(registry, {"SparseApplyFtrl", "ResourceSparseApplyFtrl"}, RealFloats{}, rows);
  RegisterOptimizer<FtrlV2>(registry, {"ApplyFtrlV2", "ResourceApplyFtrlV2"}, RealFloats{}, dense);
  RegisterOptimizer<FtrlV2>(registry, {"SparseApplyFtrlV2", "ResourceSparseApplyFtrlV2"}, RealFloats{}, rows);
}

}  // namespace weir
