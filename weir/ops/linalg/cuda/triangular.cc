// MatrixTriangularSolve, TridiagonalSolve and TridiagonalMatMul on GPUs.
#include "weir/device/cpu/broadcast.h"
#include "weir/ops/linalg/cuda/register.h"
#include "weir/ops/linalg/matrix_batch.h"

namespace weir::cuda {
namespace {

using linalg::Batch;

class GpuTriangularSolveKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuTriangularSolveKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->lower_, init.Attr<bool>("lower"));
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_, init.Attr<bool>("adjoint"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Shape &a = ctx.input(0).shape(), &b = ctx.input(1).shape();
    if (a.rank() < 2) return InvalidArgument("In[0] ndims must be >= 2: ", a.rank());
    if (b.rank() < 2) return InvalidArgument("In[1] ndims must be >= 2: ", b.rank());
    const int64_t n = a.dim(a.rank() - 1), k = b.dim(b.rank() - 1);
    if (a.dim(a.rank() - 2) != n) {
      return InvalidArgument("In[0] matrices in the last dimensions must be square (", n, " =/= ", a.dim(a.rank() - 2),
                             ")");
    }
    const Shape a_batch = a.Slice(0, a.rank() - 2), b_batch = b.Slice(0, b.rank() - 2);
    auto batch = BroadcastShape(a_batch, b_batch);
    if (!batch.ok()) {
      return InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ", a.ToString(), " vs. ",
                             b.ToString());
    }
    if (b.dim(b.rank() - 2) != n) {
      return InvalidArgument("In[0] mismatch In[1] shape: ", n, " vs. ", b.dim(b.rank() - 2), ": ", a.ToString(), " ",
                             b.ToString(), " ", int{lower_}, " ", int{adjoint_});
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, linalg::WithOuter(*batch, {n, k}));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    // Which matrix meets which right-hand side.
    std::vector<int64_t> of;
    const int64_t count = batch->num_elements();
    of.resize(static_cast<size_t>(2 * count));
    const Shape* operands[] = {&a_batch, &b_batch};
    const BroadcastRuns runs(*batch, operands);
    runs.ForRows(0, runs.rows(), [&](int64_t to, const auto& at) {
      for (int64_t i = 0; i < runs.run(); ++i) {
        of[static_cast<size_t>(to + i)] = at[0] + i * runs.step(0);
        of[static_cast<size_t>(count + to + i)] = at[1] + i * runs.step(1);
      }
    });
    WEIR_ASSIGN_OR_RETURN(Tensor pairs, Upload(ctx, of));
    unsigned threads = 32;
    while (threads < 256 && threads < n) threads *= 2;
    const LaunchShape launch{.grid = static_cast<unsigned>(std::min<int64_t>(count * k, 1 << 20)), .block = threads};
    return Launch(ctx, MatrixFunction("SolveTriangular", out->dtype()), launch, Address(ctx.input(0)), Address(pairs),
                  Address(ctx.input(1)), Address(pairs) + static_cast<size_t>(count) * sizeof(int64_t), Address(*out),
                  n, k, count, int32_t{lower_}, int32_t{adjoint_});
  }

 private:
  bool lower_ = true, adjoint_ = false;
};

class GpuTridiagonalMatMulKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const std::vector<Batch> batches, linalg::BatchInputs(ctx, 4));
    const int64_t m = batches[3].rows, n = batches[3].columns;
    static constexpr std::string_view kNames[] = {"superdiagonal", "main diagonal", "subdiagonal"};
    for (int i = 0; i < 3; ++i) {
      if (batches[i].rows != 1 || batches[i].columns != m) return InvalidArgument("Invalid ", kNames[i], " shape.");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(3).shape()));
    const int64_t total = out->num_elements();
    return LaunchOver(ctx, MatrixFunction("MultiplyTridiagonal", out->dtype()), total, Address(ctx.input(0)),
                      Address(ctx.input(1)), Address(ctx.input(2)), Address(ctx.input(3)), Address(*out), m, n, total);
  }
};

class GpuTridiagonalSolveKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuTridiagonalSolveKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->pivoting_, init.Attr<bool>("partial_pivoting"));
    WEIR_ASSIGN_OR_RETURN(kernel->perturb_, init.Attr<bool>("perturb_singular"));
    if (kernel->perturb_ && !kernel->pivoting_) {
      return InvalidArgument("Setting perturb_singular requires also setting partial_pivoting.");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const std::vector<Batch> batches, linalg::BatchInputs(ctx, 2));
    if (batches[0].rows != 3) {
      return InvalidArgument("Expected diagonals to be provided as a matrix with 3 rows, got ", batches[0].rows,
                             " rows.");
    }
    const int64_t n = batches[0].columns, k = batches[1].columns, count = batches[0].count();
    if (batches[1].rows != n) {
      return InvalidArgument("Expected the same number of left-hand sides and right-hand sides, got ", n, " and ",
                             batches[1].rows, ".");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(1).shape()));
    if (out->num_elements() == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(out->dtype(), ctx.input(0).shape()));
    return LaunchOver(ctx, MatrixFunction("SolveTridiagonal", out->dtype()), count, Address(ctx.input(0)),
                      Address(ctx.input(1)), Address(*out), Address(scratch), n, k, count, int32_t{pivoting_},
                      int32_t{perturb_});
  }

 private:
  bool pivoting_ = true, perturb_ = false;
};

}  // namespace

void RegisterTriangularKernels(GpuRegistry& registry) {
  registry.Add("MatrixTriangularSolve", MakeKernel<GpuTriangularSolveKernel>);
  registry.Add("BatchMatrixTriangularSolve", MakeKernel<GpuTriangularSolveKernel>);
  registry.Add("TridiagonalMatMul", MakeKernel<GpuTridiagonalMatMulKernel>);
  registry.Add("TridiagonalSolve", MakeKernel<GpuTridiagonalSolveKernel>);
}

}  // namespace weir::cuda
