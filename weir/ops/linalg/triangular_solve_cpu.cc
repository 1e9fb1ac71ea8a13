// MatrixTriangularSolve and BandedTriangularSolve; the outer dimensions broadcast.
#include <Eigen/Core>

#include "weir/device/cpu/broadcast.h"
#include "weir/ops/linalg/eigen_matrix_internal.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Matrix;

struct Pair {
  int64_t matrix, rhs;
};

// Which matrix meets which right-hand side, in the order of the output.
std::vector<Pair> BroadcastPairs(const Shape& batch, const Shape& a, const Shape& b) {
  std::vector<Pair> out;
  if (batch.num_elements() == 0) return out;
  const Shape* operands[] = {&a, &b};
  const BroadcastRuns runs(batch, operands);
  runs.ForRows(0, runs.rows(), [&](int64_t, const auto& at) {
    for (int64_t i = 0; i < runs.run(); ++i) out.push_back({at[0] + i * runs.step(0), at[1] + i * runs.step(1)});
  });
  return out;
}

class TriangularKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Shape &a = ctx.input(0).shape(), &b = ctx.input(1).shape();
    if (a.rank() < 2) return InvalidArgument("In[0] ndims must be >= 2: ", a.rank());
    if (b.rank() < 2) return InvalidArgument("In[1] ndims must be >= 2: ", b.rank());
    WEIR_RETURN_IF_ERROR(CheckMatrix(ctx.input(0)));
    const Shape a_batch = a.Slice(0, a.rank() - 2), b_batch = b.Slice(0, b.rank() - 2);
    auto batch = BroadcastShape(a_batch, b_batch);
    if (!batch.ok()) {
      return InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ", a.ToString(), " vs. ",
                             b.ToString());
    }
    const int64_t n = a.dim(a.rank() - 1), k = b.dim(b.rank() - 1);
    if (b.dim(b.rank() - 2) != n) {
      return InvalidArgument("In[0] mismatch In[1] shape: ", n, " vs. ", b.dim(b.rank() - 2), ": ", a.ToString(), " ",
                             b.ToString(), " ", int{lower_}, " ", int{adjoint_});
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, linalg::WithOuter(*batch, {n, k}));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const std::vector<Pair> pairs = BroadcastPairs(*batch, a_batch, b_batch);
    const int64_t a_size = a.dim(a.rank() - 2) * n;
    const double operations = static_cast<double>(a_size) * static_cast<double>(k);
    return linalg::ForMatrices(ctx, batch->num_elements(), operations, [&](int64_t i) {
      Solve(ctx.input(0), pairs[i].matrix * a_size, ctx.input(1), pairs[i].rhs * n * k, *out, i * n * k, n, k);
      return OkStatus();
    });
  }

 protected:
  static Status Read(const KernelInit& init, TriangularKernel& kernel) {
    WEIR_ASSIGN_OR_RETURN(kernel.lower_, init.Attr<bool>("lower"));
    WEIR_ASSIGN_OR_RETURN(kernel.adjoint_, init.Attr<bool>("adjoint"));
    return OkStatus();
  }
  virtual Status CheckMatrix(const Tensor& matrix) const = 0;
  // One matrix at `a_at`, `k` columns at `b_at`, solved into `to`.
  virtual void Solve(const Tensor& a, int64_t a_at, const Tensor& b, int64_t b_at, Tensor& out, int64_t to, int64_t n,
                     int64_t k) const = 0;

  bool lower_ = true, adjoint_ = false;
};

template <typename T>
class DenseTriangularKernel : public TriangularKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DenseTriangularKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, *kernel));
    return kernel;
  }

 protected:
  Status CheckMatrix(const Tensor& matrix) const override {
    const int64_t rows = matrix.dim(matrix.rank() - 2), columns = matrix.dim(matrix.rank() - 1);
    if (rows == columns) return OkStatus();
    return InvalidArgument("In[0] matrices in the last dimensions must be square (", columns, " =/= ", rows, ")");
  }
  void Solve(const Tensor& a, int64_t a_at, const Tensor& b, int64_t b_at, Tensor& out, int64_t to, int64_t n,
             int64_t k) const override {
    using C = linalg::FastOf<T>;
    Matrix<C> x = Eigen::Map<const Matrix<T>>(b.data<T>() + b_at, n, k).template cast<C>();
    if constexpr (std::is_same_v<T, C>) {
      if (!adjoint_) {
        SolveTriangle<C>(Eigen::Map<const Matrix<C>>(a.data<T>() + a_at, n, n), lower_, x);
        Eigen::Map<Matrix<T>>(out.data<T>() + to, n, k) = x;
        return;
      }
    }
    Matrix<C> matrix = Eigen::Map<const Matrix<T>>(a.data<T>() + a_at, n, n).template cast<C>();
    if (adjoint_) matrix.adjointInPlace();
    SolveTriangle<C>(Eigen::Map<const Matrix<C>>(matrix.data(), n, n), lower_ != adjoint_, x);
    Eigen::Map<Matrix<T>>(out.data<T>() + to, n, k) = x.template cast<T>();
  }

 private:
  template <typename C>
  static void SolveTriangle(const Eigen::Map<const Matrix<C>>& matrix, bool lower, Matrix<C>& x) {
    if (lower) {
      matrix.template triangularView<Eigen::Lower>().solveInPlace(x);
    } else {
      matrix.template triangularView<Eigen::Upper>().solveInPlace(x);
    }
  }
};

// The matrix is given by its bands: of a lower one band d holds element (i, i - d) in column i, of an upper one band
// bands - 1 - d holds element (i, i + d).
template <typename T>
class BandedTriangularKernel : public TriangularKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BandedTriangularKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, *kernel));
    return kernel;
  }

 protected:
  Status CheckMatrix(const Tensor& matrix) const override {
    if (matrix.num_elements() > 0) return OkStatus();
    return InvalidArgument("In[0] must not be an empty tensor: Tensor<type: ", Name(matrix.dtype()),
                           " shape: ", matrix.shape().ToString(), " values: >");
  }
  void Solve(const Tensor& a, int64_t a_at, const Tensor& b, int64_t b_at, Tensor& out, int64_t to, int64_t n,
             int64_t k) const override {
    const int64_t bands = a.dim(a.rank() - 2);
    const T* band = a.data<T>() + a_at;
    const Eigen::Map<const Matrix<T>> rhs(b.data<T>() + b_at, n, k);
    Eigen::Map<Matrix<T>> x(out.data<T>() + to, n, k);
    // Element (i, j) of the triangular matrix that is solved; |i - j| < bands.
    auto element = [&](int64_t i, int64_t j) {
      if (adjoint_) std::swap(i, j);
      const T value = lower_ ? band[(i - j) * n + i] : band[(bands - 1 - (j - i)) * n + i];
      return adjoint_ ? Eigen::numext::conj(value) : value;
    };
    const bool forward = lower_ != adjoint_;
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = forward ? step : n - 1 - step;
      x.row(i) = rhs.row(i);
      for (int64_t d = 1; d < bands && d <= step; ++d) {
        const int64_t j = forward ? i - d : i + d;
        x.row(i) -= element(i, j) * x.row(j);
      }
      x.row(i) /= element(i, i);
    }
  }
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  for (std::string_view op : {"MatrixTriangularSolve", "BatchMatrixTriangularSolve"}) {
    (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<DenseTriangularKernel<Ts>>), ...);
  }
  (registry.Add(KernelBuilder("BandedTriangularSolve").Types("T", TypeList<Ts>{}),
                MakeKernel<BandedTriangularKernel<Ts>>),
   ...);
}

}  // namespace

void RegisterTriangularSolveKernels(KernelRegistry& registry) { RegisterAll(registry, linalg::SolverTypes{}); }

}  // namespace weir
