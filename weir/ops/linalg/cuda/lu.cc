// Lu, MatrixInverse, MatrixSolve and determinants on GPUs. A matrix in rows is, to the solver, its transpose.
#include "weir/device/cuda/solver.h"
#include "weir/device/cuda/transpose.h"
#include "weir/ops/linalg/cuda/register.h"
#include "weir/ops/linalg/matrix_batch.h"

namespace weir::cuda {
namespace {

using linalg::Batch;

// LU factors of a batch.
struct Factors {
  SquareMatrices matrices;
  Tensor lu, pivots, info;
};

// Of the transposes of the matrices, or, if `as_columns`, of themselves.
StatusOr<Factors> FactorMatrices(KernelContext& ctx, const Tensor& input, const Batch& batch, bool as_columns) {
  Factors factors{{.dtype = input.dtype(), .n = batch.rows, .batch = batch.count()}, {}, {}, {}};
  const int64_t n = batch.rows;
  if (n >= int64_t{1} << 31) return Unimplemented("A matrix of ", n, " rows");
  WEIR_ASSIGN_OR_RETURN(factors.lu, ctx.AllocateTemp(input.dtype(), input.shape()));
  WEIR_ASSIGN_OR_RETURN(factors.pivots, ctx.AllocateTemp(DType::kInt32, Shape({batch.count(), n})));
  WEIR_ASSIGN_OR_RETURN(factors.info, ctx.AllocateTemp(DType::kInt32, Shape({batch.count()})));
  if (as_columns) {
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, input.dtype(), Address(input), Address(factors.lu), batch.count(), n, n));
  } else {
    WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(factors.lu), Address(input), input.num_bytes()));
  }
  WEIR_RETURN_IF_ERROR(
      FactorLu(ctx, factors.matrices, Address(factors.lu), Address(factors.pivots), Address(factors.info)));
  return factors;
}

// The step fails with the message if a matrix turns out to be singular.
Status ExpectInvertible(KernelContext& ctx, const Factors& factors, std::string_view message) {
  WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorWord(ctx, InvalidArgument(message)));
  const SquareMatrices& m = factors.matrices;
  return LaunchOver(ctx, MatrixFunction("CheckInvertible", m.dtype), m.n * m.batch, Address(factors.lu), m.n, m.batch,
                    error);
}

class GpuLuKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() < 2) return InvalidArgument("Input tensor must have rank >= 2, got ", input.rank());
    WEIR_ASSIGN_OR_RETURN(const Batch batch, linalg::SquareInput(ctx));
    const int64_t n = batch.rows;
    WEIR_ASSIGN_OR_RETURN(Shape order, linalg::WithOuter(batch.outer, {n}));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * p, ctx.AllocateOutput(1, order));
    if (input.num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(const Factors factors, FactorMatrices(ctx, input, batch, /*as_columns=*/true));
    WEIR_RETURN_IF_ERROR(ExpectInvertible(ctx, factors, "Input is not invertible."));
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, input.dtype(), Address(factors.lu), Address(*out), batch.count(), n, n));
    return LaunchOver(ctx, MatrixFunction("OrderOfPivots", p->dtype()), batch.count(), Address(factors.pivots),
                      Address(*p), n, batch.count());
  }
};

class GpuInverseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuInverseKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_, init.Attr<bool>("adjoint"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const Batch batch, linalg::SquareInput(ctx));
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    if (input.num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(const Factors factors, FactorMatrices(ctx, input, batch, /*as_columns=*/false));
    WEIR_RETURN_IF_ERROR(ExpectInvertible(ctx, factors, "Input is not invertible."));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, MatrixFunction("UnitMatrices", input.dtype()), input.num_elements(),
                                    Address(*out), batch.rows, input.num_elements()));
    // The inverse of the transpose, in columns, is the inverse in rows; that of the adjoint likewise.
    return SolveByLu(ctx, factors.matrices, adjoint_ ? kCublasOpC : kCublasOpN, Address(factors.lu),
                     Address(factors.pivots), Address(*out), batch.rows, Address(factors.info));
  }

 private:
  bool adjoint_ = false;
};

class GpuMatrixSolveKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuMatrixSolveKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_, init.Attr<bool>("adjoint"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const std::vector<Batch> batches, linalg::BatchInputs(ctx, 2));
    const int64_t n = batches[0].rows, k = batches[1].columns, count = batches[0].count();
    if (!batches[0].is_square()) return InvalidArgument("First input (lhs) must be a square matrix.");
    if (batches[1].rows != n) return InvalidArgument("Input matrix and rhs are incompatible.");
    const Tensor& rhs = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, rhs.shape()));
    if (out->num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(const Factors factors, FactorMatrices(ctx, ctx.input(0), batches[0], /*as_columns=*/false));
    WEIR_RETURN_IF_ERROR(ExpectInvertible(ctx, factors, "Input matrix is not invertible."));
    const DType dtype = rhs.dtype();
    WEIR_ASSIGN_OR_RETURN(Tensor x, ctx.AllocateTemp(dtype, rhs.shape()));
    // The factors are those of b = a^T. a x = r is b^T x = r; a^H x = r is b conj(x) = conj(r).
    WEIR_RETURN_IF_ERROR(SwapRowsAndColumns(ctx, dtype, Address(rhs), Address(x), count, n, k, adjoint_));
    WEIR_RETURN_IF_ERROR(SolveByLu(ctx, factors.matrices, adjoint_ ? kCublasOpN : kCublasOpT, Address(factors.lu),
                                   Address(factors.pivots), Address(x), k, Address(factors.info)));
    return SwapRowsAndColumns(ctx, dtype, Address(x), Address(*out), count, k, n, adjoint_);
  }

 private:
  bool adjoint_ = false;
};

template <bool kLog>
class GpuDeterminantKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const Batch batch, linalg::SquareInput(ctx));
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * first, ctx.AllocateOutput(0, batch.outer));
    DeviceAddress log = 0;
    if constexpr (kLog) {
      WEIR_ASSIGN_OR_RETURN(Tensor * size, ctx.AllocateOutput(1, batch.outer));
      log = Address(*size);
    }
    Factors factors;
    if (batch.count() > 0 && batch.rows > 0) {
      WEIR_ASSIGN_OR_RETURN(factors, FactorMatrices(ctx, input, batch, /*as_columns=*/false));
    }
    const bool has_factors = factors.lu.has_value();
    return LaunchOver(ctx, MatrixFunction("Determinants", input.dtype(), kLog ? ", true" : ", false"), batch.count(),
                      has_factors ? Address(factors.lu) : 0, has_factors ? Address(factors.pivots) : 0, Address(*first),
                      log, batch.rows, batch.count());
  }
};

}  // namespace

void RegisterLuKernels(GpuRegistry& registry) {
  registry.Add("Lu", MakeKernel<GpuLuKernel>);
  registry.Add("LogMatrixDeterminant", MakeKernel<GpuDeterminantKernel<true>>);
  for (const char* prefix : {"", "Batch"}) {
    registry.Add(Cat(prefix, "MatrixDeterminant"), MakeKernel<GpuDeterminantKernel<false>>);
    registry.Add(Cat(prefix, "MatrixInverse"), MakeKernel<GpuInverseKernel>);
    registry.Add(Cat(prefix, "MatrixSolve"), MakeKernel<GpuMatrixSolveKernel>);
  }
}

}  // namespace weir::cuda
