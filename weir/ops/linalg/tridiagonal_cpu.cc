// TridiagonalMatMul and TridiagonalSolve.
#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "weir/ops/linalg/eigen_matrix_internal.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;
using linalg::Matrix;
using linalg::RealOf;

template <typename T>
using Rows = Eigen::Map<Matrix<T>>;
template <typename T>
using ConstRows = Eigen::Map<const Matrix<T>>;

template <typename T>
class TridiagonalMatMulKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, linalg::BatchInputs(ctx, 4));
    const int64_t m = batches[3].rows, n = batches[3].columns;
    static constexpr std::string_view kNames[] = {"superdiagonal", "main diagonal", "subdiagonal"};
    for (int i = 0; i < 3; ++i) {
      if (batches[i].rows != 1 || batches[i].columns != m) return InvalidArgument("Invalid ", kNames[i], " shape.");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(3).shape()));
    if (out->num_elements() == 0) return OkStatus();
    const T *above = ctx.input(0).data<T>(), *main = ctx.input(1).data<T>(), *below = ctx.input(2).data<T>();
    return linalg::ForMatrices(ctx, batches[3].count(), 3.0 * static_cast<double>(m * n), [&](int64_t i) {
      const ConstRows<T> x(ctx.input(3).data<T>() + i * m * n, m, n);
      Rows<T> y(out->data<T>() + i * m * n, m, n);
      for (int64_t r = 0; r < m; ++r) {
        y.row(r) = main[i * m + r] * x.row(r);
        if (r + 1 < m) y.row(r) += above[i * m + r] * x.row(r + 1);
        if (r > 0) y.row(r) += below[i * m + r] * x.row(r - 1);
      }
      return OkStatus();
    });
  }
};

// One system: the diagonals above, on and below the main one; element i of each belongs to row i.
template <typename T>
struct System {
  const T *above, *main, *below;
  int64_t n;
  ConstRows<T> rhs;
};

template <typename T>
Status FillNaN(Rows<T>& x) {
  x.setConstant(T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
  return OkStatus();
}

// Elimination without row exchanges.
template <typename T>
Status SolveInOrder(const System<T>& system, Rows<T>& x) {
  const int64_t n = system.n;
  std::vector<T> upper(static_cast<size_t>(n));
  T pivot = system.main[0];
  if (pivot == T(0)) return FillNaN(x);
  x.row(0) = system.rhs.row(0) / pivot;
  for (int64_t i = 1; i < n; ++i) {
    upper[i - 1] = system.above[i - 1] / pivot;
    pivot = system.main[i] - system.below[i] * upper[i - 1];
    if (pivot == T(0)) return FillNaN(x);
    x.row(i) = (system.rhs.row(i) - system.below[i] * x.row(i - 1)) / pivot;
  }
  for (int64_t i = n - 2; i >= 0; --i) x.row(i) -= upper[i] * x.row(i + 1);
  return OkStatus();
}

// Moves a pivot away from zero until neither its inverse nor the quotient of `largest` overflows.
template <typename T>
T AwayFromZero(T pivot, RealOf<T> step, RealOf<T> largest) {
  using R = RealOf<T>;
  constexpr R kSmallest = std::numeric_limits<R>::min();
  step = std::max(step, kSmallest);
  if (std::signbit(std::real(pivot))) step = -step;
  for (R size = std::abs(pivot); size < R(1); size = std::abs(pivot), step *= 2) {
    const bool overflows = size < kSmallest ? size == R(0) || largest * kSmallest > size : largest > size / kSmallest;
    if (!overflows) break;
    pivot += T(step);
  }
  return pivot;
}

// Elimination with exchanges of neighbouring rows, which fill a second diagonal above the main one.
template <typename T>
Status SolveWithExchanges(const System<T>& system, bool perturb, Rows<T>& x) {
  using R = RealOf<T>;
  const int64_t n = system.n;
  std::vector<std::array<T, 3>> upper(static_cast<size_t>(n), {T(0), T(0), T(0)});
  upper[0] = {system.main[0], system.above[0], T(0)};
  x.row(0) = system.rhs.row(0);
  for (int64_t i = 0; i + 1 < n; ++i) {
    auto &row = upper[i], &next = upper[i + 1];
    const T below = system.below[i + 1], main = system.main[i + 1];
    const T above = i + 2 < n ? system.above[i + 1] : T(0);
    if (std::abs(row[0]) >= std::abs(below)) {
      T factor = T(0);
      if (row[0] != T(0)) {
        factor = below / row[0];
      } else if (!perturb) {
        return FillNaN(x);
      }
      next = {main - factor * row[1], above, T(0)};
      x.row(i + 1) = system.rhs.row(i + 1) - factor * x.row(i);
    } else {
      const T factor = row[0] / below;
      next = {row[1] - factor * main, -factor * above, T(0)};
      row = {below, main, above};
      x.row(i + 1) = x.row(i) - factor * system.rhs.row(i + 1);
      x.row(i) = system.rhs.row(i + 1);
    }
  }
  R step = 0;
  if (perturb) {
    for (int64_t i = 0; i < n; ++i) {
      step = std::max({step, std::abs(system.main[i]), i + 1 < n ? std::abs(system.above[i]) : R(0),
                       i > 0 ? std::abs(system.below[i]) : R(0)});
    }
    step *= std::numeric_limits<R>::epsilon();
  } else if (upper[n - 1][0] == T(0)) {
    return FillNaN(x);
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    if (i + 1 < n) x.row(i) -= upper[i][1] * x.row(i + 1);
    if (i + 2 < n) x.row(i) -= upper[i][2] * x.row(i + 2);
    const T pivot =
        perturb ? AwayFromZero(upper[i][0], step, static_cast<R>(x.row(i).cwiseAbs().maxCoeff())) : upper[i][0];
    x.row(i) /= pivot;
  }
  return OkStatus();
}

template <typename T>
class TridiagonalSolveKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TridiagonalSolveKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->pivoting_, init.Attr<bool>("partial_pivoting"));
    WEIR_ASSIGN_OR_RETURN(kernel->perturb_, init.Attr<bool>("perturb_singular"));
    if (kernel->perturb_ && !kernel->pivoting_) {
      return InvalidArgument("Setting perturb_singular requires also setting partial_pivoting.");
    }
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, linalg::BatchInputs(ctx, 2));
    if (batches[0].rows != 3) {
      return InvalidArgument("Expected diagonals to be provided as a matrix with 3 rows, got ", batches[0].rows,
                             " rows.");
    }
    const int64_t n = batches[0].columns, k = batches[1].columns;
    if (batches[1].rows != n) {
      return InvalidArgument("Expected the same number of left-hand sides and right-hand sides, got ", n, " and ",
                             batches[1].rows, ".");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(1).shape()));
    if (out->num_elements() == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batches[0].count(), 10.0 * static_cast<double>(n * k), [&](int64_t i) {
      const T* diagonals = ctx.input(0).data<T>() + i * 3 * n;
      const System<T> system{diagonals, diagonals + n, diagonals + 2 * n, n,
                             ConstRows<T>(ctx.input(1).data<T>() + i * n * k, n, k)};
      Rows<T> x(out->data<T>() + i * n * k, n, k);
      if (!pivoting_) return SolveInOrder(system, x);
      return SolveWithExchanges(system, perturb_, x);
    });
  }

 private:
  bool pivoting_ = true, perturb_ = false;
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Add(KernelBuilder("TridiagonalMatMul").Types("T", TypeList<Ts>{}), MakeKernel<TridiagonalMatMulKernel<Ts>>),
   ...);
  (registry.Add(KernelBuilder("TridiagonalSolve").Types("T", TypeList<Ts>{}), MakeKernel<TridiagonalSolveKernel<Ts>>),
   ...);
}

}  // namespace

void RegisterTridiagonalKernels(KernelRegistry& registry) { RegisterAll(registry, linalg::SolverTypes{}); }

}  // namespace weir
