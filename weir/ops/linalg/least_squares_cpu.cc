// MatrixSolveLs: least squares through the normal equations, or slower and for every rank through an orthogonal
// decomposition.
#include <Eigen/Cholesky>
#include <limits>

#include "weir/ops/linalg/decompositions.h"
#include "weir/ops/linalg/eigen_matrix_internal.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;
using linalg::Matrix;

template <typename T>
class LeastSquaresKernel : public Kernel {
 public:
  using C = std::complex<double>;
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<LeastSquaresKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->fast_, init.Attr<bool>("fast"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, linalg::BatchInputs(ctx, 2));
    const int64_t m = batches[0].rows, n = batches[0].columns, k = batches[1].columns;
    if (batches[1].rows != m) return InvalidArgument("Input matrix and rhs are incompatible.");
    const Tensor& l2 = ctx.input(2);
    if (l2.rank() != 0) return InvalidArgument("l2_regularizer must be scalar, got shape ", l2.shape().ToString());
    const double penalty = l2.scalar<double>();
    if (!(penalty >= 0)) return InvalidArgument("l2_regularizer must be >= 0.");
    WEIR_ASSIGN_OR_RETURN(Shape shape, linalg::WithOuter(batches[0].outer, {n, k}));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (m == 0) {
      std::fill_n(out->data<T>(), shape.num_elements(), T(0));
      return OkStatus();
    }
    const double operations = 2.0 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n) + k);
    return linalg::ForMatrices(ctx, batches[0].count(), operations, [&](int64_t i) {
      const Matrix<C> a = linalg::Load<T, C>(ctx.input(0), i, m, n), b = linalg::Load<T, C>(ctx.input(1), i, m, k);
      Matrix<C> x(n, k);
      if (!fast_) {
        linalg::LeastSquares(a.data(), m, n, b.data(), k, x.data());
      } else {
        WEIR_RETURN_IF_ERROR(NormalEquations(a, b, penalty, x));
      }
      const std::vector<C> values(x.data(), x.data() + x.size());
      linalg::Narrow(values, out->data<T>() + i * n * k);
      return OkStatus();
    });
  }

 private:
  static Status NormalEquations(const Matrix<C>& a, const Matrix<C>& b, double penalty, Matrix<C>& x) {
    const bool is_tall = a.rows() >= a.cols();
    Matrix<C> gramian = is_tall ? Matrix<C>(a.adjoint() * a) : Matrix<C>(a * a.adjoint());
    gramian.diagonal().array() += C(penalty);
    const Eigen::LLT<Matrix<C>> llt(gramian);
    // A pivot as small as the rounding errors of T is none.
    const double smallest = llt.matrixLLT().diagonal().cwiseAbs().minCoeff();
    const double limit = kEpsilon * gramian.diagonal().cwiseAbs().maxCoeff();
    if (llt.info() != Eigen::Success || smallest * smallest < limit / 2) {
      return InvalidArgument(
          "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger "
          "l2_regularizer > 0.");
    }
    if (is_tall) {
      x = llt.solve(a.adjoint() * b);
    } else {
      x = a.adjoint() * llt.solve(b);
    }
    return OkStatus();
  }

  static constexpr double kEpsilon = std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>>
                                         ? std::numeric_limits<float>::epsilon()
                                         : std::numeric_limits<double>::epsilon();
  bool fast_ = true;
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  for (std::string_view op : {"MatrixSolveLs", "BatchMatrixSolveLs"}) {
    (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<LeastSquaresKernel<Ts>>), ...);
  }
}

}  // namespace

void RegisterLeastSquaresKernels(KernelRegistry& registry) { RegisterAll(registry, linalg::SolverTypes{}); }

}  // namespace weir
