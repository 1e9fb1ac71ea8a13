// MatMul and BatchMatMul on GPUs.
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cuda/blas.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/matmul_sizes.h"

namespace weir::cuda {
namespace {

class GpuMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_a_, init.Attr<bool>("transpose_a"));
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_b_, init.Attr<bool>("transpose_b"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const MatMulSizes sizes, SizesOfMatMul(a.shape(), b.shape(), transpose_a_, transpose_b_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.output));
    if (out->num_elements() == 0) return OkStatus();
    if (sizes.k == 0) return FillZero(ctx, Address(*out), out->num_bytes());
    const MatrixProduct product{.dtype = out->dtype(),
                                .m = sizes.m,
                                .n = sizes.n,
                                .k = sizes.k,
                                .transpose_a = transpose_a_,
                                .transpose_b = transpose_b_};
    return Multiply(ctx, product, Address(a), Address(b), Address(*out));
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
};

class GpuBatchMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuBatchMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_a_, init.Attr<bool>("adj_x"));
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_b_, init.Attr<bool>("adj_y"));
    kernel->broadcasts_ = init.schema().name != "BatchMatMul";
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const MatMulSizes sizes,
                          SizesOfBatchMatMul(a.shape(), b.shape(), adjoint_a_, adjoint_b_, broadcasts_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.output));
    if (out->num_elements() == 0) return OkStatus();
    if (sizes.k == 0) return FillZero(ctx, Address(*out), out->num_bytes());
    const Shape* operands[] = {&sizes.a_batch, &sizes.b_batch};
    const BroadcastRuns runs(sizes.batch, operands);
    const int64_t a_size = sizes.m * sizes.k, b_size = sizes.k * sizes.n, out_size = sizes.m * sizes.n;
    const MatrixProduct product{.dtype = out->dtype(),
                                .batch = runs.run(),
                                .m = sizes.m,
                                .n = sizes.n,
                                .k = sizes.k,
                                .transpose_a = adjoint_a_,
                                .transpose_b = adjoint_b_,
                                .conjugate_a = adjoint_a_,
                                .conjugate_b = adjoint_b_,
                                .a_step = runs.step(0) * a_size,
                                .b_step = runs.step(1) * b_size,
                                .out_step = out_size};
    const size_t element = SizeOf(out->dtype());
    Status status;
    runs.ForRows(0, runs.rows(), [&](int64_t to, const auto& at) {
      if (!status.ok()) return;
      status = Multiply(ctx, product, Address(a) + at[0] * a_size * element, Address(b) + at[1] * b_size * element,
                        Address(*out) + to * out_size * element);
    });
    return status;
  }

 private:
  bool adjoint_a_ = false, adjoint_b_ = false, broadcasts_ = true;
};

}  // namespace

void RegisterMatMulKernels(GpuRegistry& registry) {
  registry.Add("MatMul", MakeKernel<GpuMatMulKernel>);
  for (const char* op : {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    registry.Add(op, MakeKernel<GpuBatchMatMulKernel>);
  }
}

}  // namespace weir::cuda
