// Cholesky, SelfAdjointEigV2 and Svd on GPUs. A matrix in rows is, to the solver, its transpose.
#include "weir/device/cuda/solver.h"
#include "weir/device/cuda/transpose.h"
#include "weir/ops/linalg/cuda/register.h"
#include "weir/ops/linalg/matrix_batch.h"

namespace weir::cuda {
namespace {

using linalg::Batch;

DType RealTypeOf(DType dtype) {
  return dtype == DType::kComplex64 ? DType::kFloat : dtype == DType::kComplex128 ? DType::kDouble : dtype;
}

// The upper triangle of a transpose is the lower one of the matrix, and so are the factors' triangles.
class GpuCholeskyKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const Batch batch, linalg::SquareInput(ctx));
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    const int64_t n = batch.rows, total = input.num_elements();
    if (total == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor info, ctx.AllocateTemp(DType::kInt32, Shape({batch.count()})));
    WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(*out), Address(input), input.num_bytes()));
    if (IsComplex(input.dtype())) {
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, MatrixFunction("MakeDiagonalReal", RealTypeOf(input.dtype())),
                                      n * batch.count(), Address(*out), n, batch.count()));
    }
    const SquareMatrices matrices{.dtype = input.dtype(), .n = n, .batch = batch.count()};
    WEIR_RETURN_IF_ERROR(FactorCholesky(ctx, matrices, Address(*out), Address(info)));
    return LaunchOver(ctx, MatrixFunction("FinishCholesky", input.dtype()), total, Address(*out), Address(info), n,
                      total);
  }
};

class GpuSelfAdjointEigKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuSelfAdjointEigKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->vectors_, init.Attr<bool>("compute_v"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const Batch batch, linalg::SquareInput(ctx));
    const Tensor& input = ctx.input(0);
    const DType dtype = input.dtype();
    const int64_t n = batch.rows, count = batch.count();
    WEIR_ASSIGN_OR_RETURN(Shape values_shape, linalg::WithOuter(batch.outer, {n}));
    WEIR_ASSIGN_OR_RETURN(Tensor * e, ctx.AllocateOutput(0, values_shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * v, ctx.AllocateOutput(1, vectors_ ? input.shape() : Shape()));
    if (!vectors_) WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*v), v->num_bytes()));
    if (input.num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemp(dtype, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor values, ctx.AllocateTemp(RealTypeOf(dtype), values_shape));
    WEIR_ASSIGN_OR_RETURN(Tensor info, ctx.AllocateTemp(DType::kInt32, Shape({count})));
    WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(copy), Address(input), input.num_bytes()));
    WEIR_ASSIGN_OR_RETURN(
        DeviceAddress error,
        ErrorWord(ctx, InvalidArgument(
                           "Self-adjoint eigen decomposition was not successful. The input might not be valid.")));
    WEIR_RETURN_IF_ERROR(SelfAdjointEigenvalues(ctx, {.dtype = dtype, .n = n, .batch = count}, vectors_, Address(copy),
                                                Address(values), Address(info)));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, {"weir/ops/linalg/cuda/matrices.cu", "CheckInfo"}, count, Address(info), count, error));
    WEIR_RETURN_IF_ERROR(
        LaunchOver(ctx, MatrixFunction("FromReal", dtype), count * n, Address(values), Address(*e), count * n));
    if (!vectors_) return OkStatus();
    // The transpose of a self-adjoint matrix is its conjugate, and has the conjugate vectors.
    return SwapRowsAndColumns(ctx, dtype, Address(copy), Address(*v), count, n, n, /*conjugate=*/true);
  }

 private:
  bool vectors_ = true;
};

class GpuSvdKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuSvdKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->vectors_, init.Attr<bool>("compute_uv"));
    WEIR_ASSIGN_OR_RETURN(kernel->full_, init.Attr<bool>("full_matrices"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const std::vector<Batch> batches, linalg::BatchInputs(ctx, 1));
    const int64_t m = batches[0].rows, n = batches[0].columns, k = std::min(m, n), count = batches[0].count();
    const Shape& outer = batches[0].outer;
    const DType dtype = ctx.input(0).dtype();
    WEIR_ASSIGN_OR_RETURN(Shape s_shape, linalg::WithOuter(outer, {k}));
    WEIR_ASSIGN_OR_RETURN(Tensor * s, ctx.AllocateOutput(0, s_shape));
    Shape u_shape, v_shape;
    if (vectors_) {
      WEIR_ASSIGN_OR_RETURN(u_shape, linalg::WithOuter(outer, {m, full_ ? m : k}));
      WEIR_ASSIGN_OR_RETURN(v_shape, linalg::WithOuter(outer, {n, full_ ? n : k}));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * u, ctx.AllocateOutput(1, u_shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * v, ctx.AllocateOutput(2, v_shape));
    if (!vectors_) {
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*u), u->num_bytes()));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*v), v->num_bytes()));
    }
    if (k == 0) {  // whatever basis
      for (const Tensor* basis : {u, v}) {
        if (!vectors_ || basis->num_elements() == 0) continue;
        WEIR_RETURN_IF_ERROR(LaunchOver(ctx, MatrixFunction("UnitMatrices", dtype), basis->num_elements(),
                                        Address(*basis), basis->dim(basis->rank() - 1), basis->num_elements()));
      }
      return OkStatus();
    }
    if (count == 0) return OkStatus();
    return Decompose(ctx, m, n, count, *s, *u, *v);
  }

 private:
  // The solver wants at least as many rows as columns: a wide matrix is given by its transpose, a = (v s u^T)^T.
  Status Decompose(KernelContext& ctx, int64_t m, int64_t n, int64_t count, const Tensor& s, const Tensor& u,
                   const Tensor& v) const {
    const Tensor& input = ctx.input(0);
    const DType dtype = input.dtype();
    const bool is_wide = n >= m;
    const TallMatrices matrices{.dtype = dtype, .rows = std::max(m, n), .columns = std::min(m, n), .batch = count};
    const int64_t rows = matrices.rows, columns = matrices.columns, left_columns = full_ ? rows : columns;
    WEIR_ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemp(dtype, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor info, ctx.AllocateTemp(DType::kInt32, Shape({2, count})));
    const DeviceAddress strange = Address(info) + static_cast<size_t>(count) * sizeof(int32_t);
    if (is_wide) {
      WEIR_RETURN_IF_ERROR(CopyOnDevice(ctx, Address(copy), Address(input), input.num_bytes()));
    } else {
      WEIR_RETURN_IF_ERROR(SwapRowsAndColumns(ctx, dtype, Address(input), Address(copy), count, m, n));
    }
    const LaunchShape blocks{.grid = static_cast<unsigned>(std::min<int64_t>(count, 1 << 20)), .block = 128};
    WEIR_RETURN_IF_ERROR(
        Launch(ctx, MatrixFunction("ClearStrange", dtype), blocks, Address(copy), strange, m * n, count));
    Tensor left;
    // V^T in columns is V in rows.
    const Tensor& right = is_wide ? u : v;
    if (vectors_) {
      WEIR_ASSIGN_OR_RETURN(left, ctx.AllocateTemp(dtype, Shape({count, rows, left_columns})));
    }
    WEIR_RETURN_IF_ERROR(FactorSvd(ctx, matrices, full_, Address(copy), Address(s), vectors_ ? Address(left) : 0,
                                   vectors_ ? Address(right) : 0, Address(info)));
    auto mark = [&](const Tensor& values) {
      const int64_t total = values.num_elements();
      return LaunchOver(ctx, MatrixFunction("MarkStrange", dtype), total, Address(values), strange, total / count,
                        total);
    };
    WEIR_RETURN_IF_ERROR(mark(s));
    if (!vectors_) return OkStatus();
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, dtype, Address(left), Address(is_wide ? v : u), count, left_columns, rows));
    WEIR_RETURN_IF_ERROR(mark(u));
    return mark(v);
  }

  bool vectors_ = true, full_ = false;
};

}  // namespace

void RegisterDecompositionKernels(GpuRegistry& registry) {
  registry.Add("Cholesky", MakeKernel<GpuCholeskyKernel>);
  registry.Add("BatchCholesky", MakeKernel<GpuCholeskyKernel>);
  registry.Add("SelfAdjointEigV2", MakeKernel<GpuSelfAdjointEigKernel>);
  registry.Add("BatchSelfAdjointEigV2", MakeKernel<GpuSelfAdjointEigKernel>);
  registry.Add("Svd", MakeKernel<GpuSvdKernel>);
  registry.Add("BatchSvd", MakeKernel<GpuSvdKernel>);
}

}  // namespace weir::cuda
