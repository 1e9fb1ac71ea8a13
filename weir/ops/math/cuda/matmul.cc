// MatMul, BatchMatMul and products of views on GPUs.
#include <algorithm>
#include <optional>

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cuda/blas.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/matmul_sizes.h"
#include "weir/ops/math/matmul_views.h"

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

// A matrix of a view for cuBLASLt: rows of elements side by side, perhaps of the transpose.
struct ViewOperand {
  bool transposed = false;
  int64_t row = 0;  // elements from a row to the next
};
std::optional<ViewOperand> OperandOf(const MatrixView4& view) {
  const int64_t rows = view.dims[2], columns = view.dims[3];
  if (view.strides[3] == 1 || columns == 1) return ViewOperand{false, std::max(view.strides[2], columns)};
  if (view.strides[2] == 1 || rows == 1) return ViewOperand{true, std::max(view.strides[3], rows)};
  return std::nullopt;
}

class GpuViewMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuViewMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->spec_, ViewProductSpec::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &y = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(ViewProduct views, spec_.Views(x.shape(), y.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * result, ctx.AllocateOutput(0, views.shape));
    if (views.shape.num_elements() == 0) return OkStatus();
    if (views.a.dims[3] == 0) return FillZero(ctx, Address(*result), result->num_bytes());
    Tensor a = x, b = y, out = *result;
    WEIR_RETURN_IF_ERROR(MakeRows(ctx, views.a, a));
    WEIR_RETURN_IF_ERROR(MakeRows(ctx, views.b, b));
    const MatrixView4 wanted = views.out;
    const bool is_direct = OperandOf(views.out).has_value();
    if (!is_direct) {
      views.out.strides = DenseStrides(views.out.dims);
      WEIR_ASSIGN_OR_RETURN(out, ctx.AllocateTemp(result->dtype(), Shape({result->num_elements()})));
    }
    WEIR_RETURN_IF_ERROR(MultiplyAll(ctx, views, a, b, out));
    if (is_direct) return OkStatus();
    return StridedCopy(ctx, out.dtype(), wanted.dims, out.raw_data(), views.out.strides, result->raw_data(),
                       wanted.strides);
  }

 private:
  // Copies the elements of a view whose rows nor columns lie side by side.
  static Status MakeRows(KernelContext& ctx, MatrixView4& view, Tensor& memory) {
    if (OperandOf(view).has_value()) return OkStatus();
    int64_t count = 1;
    for (int64_t dim : view.dims) count *= dim;
    WEIR_ASSIGN_OR_RETURN(Tensor dense, ctx.AllocateTemp(memory.dtype(), Shape({count})));
    const Dims strides = DenseStrides(view.dims);
    const char* from =
        static_cast<const char*>(memory.raw_data()) + view.offset * static_cast<int64_t>(SizeOf(memory.dtype()));
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, memory.dtype(), view.dims, from, view.strides, dense.raw_data(), strides));
    view.strides = strides;
    view.offset = 0;
    memory = std::move(dense);
    return OkStatus();
  }

  static Status MultiplyAll(KernelContext& ctx, const ViewProduct& views, const Tensor& a_memory,
                            const Tensor& b_memory, const Tensor& out_memory) {
    const ViewOperand out = *OperandOf(views.out);
    // The transpose of a product is that of the transposes in the other order.
    const bool swaps = out.transposed;
    const MatrixView4 &left = swaps ? views.b : views.a, &right = swaps ? views.a : views.b;
    const Tensor &left_memory = swaps ? b_memory : a_memory, &right_memory = swaps ? a_memory : b_memory;
    const ViewOperand a = *OperandOf(left), b = *OperandOf(right);
    MatrixProduct product{.dtype = out_memory.dtype(),
                          .batch = views.out.dims[1],
                          .m = views.out.dims[swaps ? 3 : 2],
                          .n = views.out.dims[swaps ? 2 : 3],
                          .k = views.a.dims[3],
                          .transpose_a = a.transposed != swaps,
                          .transpose_b = b.transposed != swaps,
                          .a_row = a.row,
                          .b_row = b.row,
                          .out_row = out.row,
                          .a_step = left.strides[1],
                          .b_step = right.strides[1],
                          .out_step = views.out.strides[1]};
    int64_t outer = views.out.dims[0];
    auto continues = [&](const MatrixView4& view) { return view.strides[0] == view.strides[1] * view.dims[1]; };
    if (outer == 1 || (continues(left) && continues(right) && continues(views.out))) {
      product.batch *= outer;
      outer = 1;
    }
    const size_t element = SizeOf(product.dtype);
    for (int64_t i = 0; i < outer; ++i) {
      auto at = [&](const Tensor& memory, const MatrixView4& view) {
        return Address(memory) + static_cast<size_t>(view.offset + i * view.strides[0]) * element;
      };
      WEIR_RETURN_IF_ERROR(Multiply(ctx, product, at(left_memory, left), at(right_memory, right),
                                    Address(out_memory) + static_cast<size_t>(i * views.out.strides[0]) * element));
    }
    return OkStatus();
  }

  ViewProductSpec spec_;
};

}  // namespace

void RegisterMatMulKernels(GpuRegistry& registry) {
  registry.Add("MatMul", MakeKernel<GpuMatMulKernel>);
  for (const char* op : {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    registry.Add(op, MakeKernel<GpuBatchMatMulKernel>);
  }
  registry.kernels().Add(OnGpu("_BatchMatMulOfViews").Types("T", TypeList<Half, BFloat16, float>{}),
                         MakeKernel<GpuViewMatMulKernel>);
}

}  // namespace weir::cuda
