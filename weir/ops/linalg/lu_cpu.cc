// What comes of LU factors with row exchanges: Lu, MatrixInverse, MatrixSolve and determinants.
#include <Eigen/LU>
#include <cmath>

#include "weir/device/cpu/index_input.h"
#include "weir/ops/linalg/eigen_matrix_internal.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;
using linalg::Matrix;
using linalg::RealOf;

template <typename T>
bool IsSingular(const Eigen::PartialPivLU<Matrix<T>>& lu) {
  return !(lu.matrixLU().diagonal().array().abs() > 0).all();  // NaN too
}

template <typename T>
class LuKernel : public Kernel {
 public:
  using C = linalg::FastOf<T>;
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() < 2) return InvalidArgument("Input tensor must have rank >= 2, got ", input.rank());
    WEIR_ASSIGN_OR_RETURN(Batch batch, linalg::SquareInput(ctx));
    const int64_t n = batch.rows;
    WEIR_ASSIGN_OR_RETURN(Shape order, linalg::WithOuter(batch.outer, {n}));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * p, ctx.AllocateOutput(1, order));
    if (n == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batch.count(), linalg::Cube(n), [&](int64_t i) {
      const Eigen::PartialPivLU<Matrix<C>> lu(linalg::Load<T, C>(input, i, n, n));
      if (IsSingular<C>(lu)) return InvalidArgument("Input is not invertible.");
      linalg::Store<T>(lu.matrixLU(), *out, i);
      const auto& to = lu.permutationP().indices();  // row k goes to row to[k]
      for (int64_t k = 0; k < n; ++k) SetIndex(*p, i * n + to[k], k);
      return OkStatus();
    });
  }

 private:
  static void SetIndex(Tensor& p, int64_t at, int64_t value) {
    if (p.dtype() == DType::kInt32) {
      p.data<int32_t>()[at] = static_cast<int32_t>(value);
    } else {
      p.data<int64_t>()[at] = value;
    }
  }
};

template <typename T>
class InverseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<InverseKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_, init.Attr<bool>("adjoint"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    using C = linalg::FastOf<T>;
    WEIR_ASSIGN_OR_RETURN(Batch batch, linalg::SquareInput(ctx));
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    const int64_t n = batch.rows;
    if (n == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batch.count(), 2 * linalg::Cube(n), [&](int64_t i) {
      Matrix<C> matrix = linalg::Load<T, C>(input, i, n, n);
      if (adjoint_) matrix = matrix.adjoint().eval();
      const Eigen::PartialPivLU<Matrix<C>> lu(matrix);
      if (IsSingular<C>(lu)) return InvalidArgument("Input is not invertible.");
      const Matrix<C> inverse = lu.solve(Matrix<C>::Identity(n, n).eval());
      linalg::Store<T>(inverse, *out, i);
      return OkStatus();
    });
  }

 private:
  bool adjoint_ = false;
};

// The determinant as its sign and the logarithm of its size: the size alone may overflow.
template <typename T>
struct LogDeterminant {
  T sign = T(1);
  RealOf<T> log_size = 0;

  explicit LogDeterminant(const Matrix<T>& matrix) {
    if (matrix.size() == 0) return;
    const Eigen::PartialPivLU<Matrix<T>> lu(matrix);
    sign = T(static_cast<RealOf<T>>(lu.permutationP().determinant()));
    for (Eigen::Index k = 0; k < matrix.rows(); ++k) {
      const T pivot = lu.matrixLU()(k, k);
      const RealOf<T> size = std::abs(pivot);
      sign *= size == 0 ? T(0) : pivot / size;
      log_size += std::log(size);
    }
  }
};

template <typename T, bool kLog>
class DeterminantKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Batch batch, linalg::SquareInput(ctx));
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * first, ctx.AllocateOutput(0, batch.outer));
    Tensor* log = nullptr;
    if constexpr (kLog) {
      WEIR_ASSIGN_OR_RETURN(log, ctx.AllocateOutput(1, batch.outer));
    }
    return linalg::ForMatrices(ctx, batch.count(), linalg::Cube(batch.rows), [&](int64_t i) {
      using C = linalg::FastOf<T>;
      const LogDeterminant<C> det(linalg::Load<T, C>(input, i, batch.rows, batch.rows));
      if constexpr (kLog) {
        first->data<T>()[i] = static_cast<T>(det.sign);
        log->data<T>()[i] = static_cast<T>(C(det.log_size));
      } else {
        first->data<T>()[i] = static_cast<T>(det.sign * std::exp(det.log_size));
      }
      return OkStatus();
    });
  }
};

template <typename T>
class MatrixSolveKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MatrixSolveKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_, init.Attr<bool>("adjoint"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    using C = linalg::FastOf<T>;
    WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, linalg::BatchInputs(ctx, 2));
    const int64_t n = batches[0].rows, k = batches[1].columns;
    if (!batches[0].is_square()) return InvalidArgument("First input (lhs) must be a square matrix.");
    if (batches[1].rows != n) return InvalidArgument("Input matrix and rhs are incompatible.");
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(1).shape()));
    if (out->num_elements() == 0) return OkStatus();
    const double operations = linalg::Cube(n) + 2.0 * static_cast<double>(n) * static_cast<double>(n * k);
    return linalg::ForMatrices(ctx, batches[0].count(), operations, [&](int64_t i) {
      Matrix<C> matrix = linalg::Load<T, C>(ctx.input(0), i, n, n);
      if (adjoint_) matrix = matrix.adjoint().eval();
      const Eigen::PartialPivLU<Matrix<C>> lu(matrix);
      if (IsSingular<C>(lu)) return InvalidArgument("Input matrix is not invertible.");
      const Matrix<C> x = lu.solve(linalg::Load<T, C>(ctx.input(1), i, n, k));
      linalg::Store<T>(x, *out, i);
      return OkStatus();
    });
  }

 private:
  bool adjoint_ = false;
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Add(KernelBuilder("Lu").Types("T", TypeList<Ts>{}).Types("output_idx_type", IndexTypes{}),
                MakeKernel<LuKernel<Ts>>),
   ...);
  (registry.Add(KernelBuilder("LogMatrixDeterminant").Types("T", TypeList<Ts>{}),
                MakeKernel<DeterminantKernel<Ts, true>>),
   ...);
  for (std::string_view op : {"MatrixDeterminant", "BatchMatrixDeterminant"}) {
    (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<DeterminantKernel<Ts, false>>), ...);
  }
  for (std::string_view op : {"MatrixInverse", "BatchMatrixInverse"}) {
    (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<InverseKernel<Ts>>), ...);
  }
  for (std::string_view op : {"MatrixSolve", "BatchMatrixSolve"}) {
    (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<MatrixSolveKernel<Ts>>), ...);
  }
}

}  // namespace

void RegisterLuKernels(KernelRegistry& registry) {
  RegisterAll(registry, linalg::SolverTypes{});
  registry.Add(KernelBuilder("MatrixInverse").Types("T", TypeList<Half>{}), MakeKernel<InverseKernel<Half>>);
}

}  // namespace weir
