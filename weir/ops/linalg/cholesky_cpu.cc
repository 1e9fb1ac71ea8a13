// Cholesky and its gradient.
#include <Eigen/Cholesky>
#include <limits>

#include "weir/ops/linalg/eigen_matrix_internal.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;
using linalg::Matrix;

// Reads the lower triangle only. A matrix that is not positive definite gives NaN there, no error.
template <typename T>
class CholeskyKernel : public Kernel {
 public:
  using C = linalg::FastOf<T>;
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Batch batch, linalg::SquareInput(ctx));
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    const int64_t n = batch.rows;
    if (n == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batch.count(), linalg::Cube(n) / 3, [&](int64_t i) {
      const Eigen::LLT<Matrix<C>> llt(linalg::Load<T, C>(input, i, n, n));
      Matrix<C> factor = Matrix<C>::Zero(n, n);
      if (llt.info() == Eigen::Success) {
        factor = llt.matrixL();
      } else {
        factor.template triangularView<Eigen::Lower>() =
            Matrix<C>::Constant(n, n, C(std::numeric_limits<linalg::RealOf<C>>::quiet_NaN()));
      }
      linalg::Store<T>(factor, *out, i);
      return OkStatus();
    });
  }
};

// With the factor L and the gradient of the result G: S = L^-T phi(L^T G) L^-1, made symmetric, where phi takes the
// lower triangle with half the diagonal.
template <typename T>
class CholeskyGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, linalg::BatchInputs(ctx, 2));
    if (batches[0].rows != batches[1].rows || batches[0].columns != batches[1].columns) {
      return InvalidArgument("Inputs (L and grad) must have the same shape.");
    }
    if (!batches[0].is_square()) return InvalidArgument("Inputs must be a square matrices.");
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
    const int64_t n = batches[0].rows;
    if (n == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batches[0].count(), 3 * linalg::Cube(n), [&](int64_t i) {
      const Matrix<T> l = linalg::Load<T, T>(ctx.input(0), i, n, n).template triangularView<Eigen::Lower>();
      const Matrix<T> g = linalg::Load<T, T>(ctx.input(1), i, n, n).template triangularView<Eigen::Lower>();
      Matrix<T> phi = (l.transpose() * g).template triangularView<Eigen::Lower>();
      phi.diagonal() *= T(0.5);
      l.template triangularView<Eigen::Lower>().transpose().solveInPlace(phi);
      l.template triangularView<Eigen::Lower>().template solveInPlace<Eigen::OnTheRight>(phi);
      linalg::Store<T>((phi + phi.transpose()) * T(0.5), *out, i);
      return OkStatus();
    });
  }
};

template <typename... Ts>
void RegisterCholesky(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Add(KernelBuilder("Cholesky").Types("T", TypeList<Ts>{}), MakeKernel<CholeskyKernel<Ts>>), ...);
  (registry.Add(KernelBuilder("BatchCholesky").Types("T", TypeList<Ts>{}), MakeKernel<CholeskyKernel<Ts>>), ...);
}
template <typename... Ts>
void RegisterCholeskyGrad(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Add(KernelBuilder("CholeskyGrad").Types("T", TypeList<Ts>{}), MakeKernel<CholeskyGradKernel<Ts>>), ...);
  (registry.Add(KernelBuilder("BatchCholeskyGrad").Types("T", TypeList<Ts>{}), MakeKernel<CholeskyGradKernel<Ts>>),
   ...);
}

}  // namespace

void RegisterCholeskyKernels(KernelRegistry& registry) {
  RegisterCholesky(registry, linalg::SolverTypes{});
  RegisterCholeskyGrad(registry, TypeList<float, double>{});
}

}  // namespace weir
