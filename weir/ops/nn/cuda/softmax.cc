// Softmax, LogSoftmax, cross entropies, L2Loss and InTopKV2 on GPUs.
#include <algorithm>

#include "weir/device/cpu/index_input.h"
#include "weir/device/cuda/launch.h"
#include "weir/ops/nn/cross_entropy.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

constexpr char kSoftmaxSource[] = "weir/ops/nn/cuda/softmax.cu";

// A block for each row, of as many threads as a row gives work to.
LaunchShape RowsShape(int64_t rows, int64_t n) {
  unsigned block = 32;
  while (block < 1024 && block * 4 < n) block *= 2;
  return {.grid = static_cast<unsigned>(std::clamp<int64_t>(rows, 1, 1 << 20)), .block = block};
}

template <bool kLog>
class GpuSoftmaxKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    if (shape.rank() < 1) return InvalidArgument("logits must have >= 1 dimension, got []");
    const DeviceAddress from = Address(ctx.input(0));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t n = shape.dim(shape.rank() - 1), rows = shape.num_elements() / n;
    return Launch(ctx, {kSoftmaxSource, Cat("Softmax<", DeviceTypeName(out->dtype()), ", ", kLog, ">")},
                  RowsShape(rows, n), from, Address(*out), rows, n);
  }
};

class GpuCrossEntropyKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &logits = ctx.input(0), &labels = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const nn::CrossEntropySizes sizes, nn::SizesOfCrossEntropy(logits.shape(), labels.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, Shape{sizes.rows}));
    WEIR_ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, sizes.output));
    if (sizes.classes == 0) return FillZero(ctx, Address(*loss), loss->num_bytes());
    if (sizes.rows == 0) return OkStatus();
    struct {
      int64_t logit_row, logit_column, label_row, label_column;
    } steps = {sizes.logits.row, sizes.logits.column, sizes.labels.row, sizes.labels.column};
    return Launch(ctx, {kSoftmaxSource, Cat("CrossEntropy<", DeviceTypeName(logits.dtype()), ">")},
                  RowsShape(sizes.rows, sizes.classes), Address(logits), Address(labels), Address(*loss),
                  Address(*gradient), steps, sizes.rows, sizes.classes);
  }
};

class GpuSparseCrossEntropyKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &logits = ctx.input(0), &labels = ctx.input(1);
    WEIR_RETURN_IF_ERROR(nn::CheckSparseCrossEntropy(logits.shape(), labels.shape()));
    const int64_t rows = logits.dim(0), n = logits.dim(1);
    WEIR_ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, labels.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, logits.shape()));
    if (rows == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(
        DeviceAddress error,
        ErrorWord(ctx, InvalidArgument("Received a label value which is outside the valid range of [0, ", n, ")")));
    return Launch(
        ctx,
        {kSoftmaxSource,
         Cat("SparseCrossEntropy<", DeviceTypeName(logits.dtype()), ", ", DeviceTypeName(labels.dtype()), ">")},
        RowsShape(rows, n), Address(logits), Address(labels), Address(*loss), Address(*gradient), rows, n, error);
  }
};

class GpuL2LossKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    if (x.num_elements() == 0) return FillZero(ctx, Address(*out), out->num_bytes());
    // As many parts as the size asks for, so that the sum does not depend on the card.
    const int64_t n = x.num_elements(), parts = std::clamp<int64_t>(n / 4096, 1, 1024);
    const DType wide = x.dtype() == DType::kDouble ? DType::kDouble : DType::kFloat;
    WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(wide, Shape({parts})));
    const std::string_view type = DeviceTypeName(x.dtype());
    WEIR_RETURN_IF_ERROR(Launch(ctx, {kSoftmaxSource, Cat("SumOfSquares<", type, ", false>")},
                                {.grid = static_cast<unsigned>(parts), .block = 256}, Address(x), DeviceAddress{0},
                                Address(sums), DeviceAddress{0}, n));
    return Launch(ctx, {kSoftmaxSource, Cat("SumOfSquares<", type, ", true>")}, {.grid = 1, .block = 256},
                  DeviceAddress{0}, Address(sums), DeviceAddress{0}, Address(*out), parts);
  }
};

class GpuInTopKKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &predictions = ctx.input(0), &targets = ctx.input(1), &k = ctx.input(2);
    if (!k.shape().IsScalar()) return InvalidArgument("k must be 0-D, got shape ", k.shape().ToString());
    if (!predictions.shape().IsMatrix()) return InvalidArgument("predictions must be 2-dimensional");
    if (!targets.shape().IsVector()) return InvalidArgument("targets must be 1-dimensional");
    if (predictions.dim(0) != targets.dim(0)) {
      return InvalidArgument("First dimension of predictions ", predictions.dim(0), " must match length of targets ",
                             targets.dim(0));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, targets.shape()));
    const int64_t rows = predictions.dim(0), n = predictions.dim(1);
    if (rows == 0) return OkStatus();
    const std::string_view type = DeviceTypeName(targets.dtype());
    return Launch(ctx, {kSoftmaxSource, Cat("InTopK<", type, ">")}, RowsShape(rows, n), Address(predictions),
                  Address(targets), Address(*out), rows, n, Address(k));
  }
};

}  // namespace

void RegisterSoftmaxKernels(GpuRegistry& registry) {
  registry.Add("Softmax", MakeKernel<GpuSoftmaxKernel<false>>);
  registry.Add("LogSoftmax", MakeKernel<GpuSoftmaxKernel<true>>);
  registry.Add("SoftmaxCrossEntropyWithLogits", MakeKernel<GpuCrossEntropyKernel>);
  registry.Add("SparseSoftmaxCrossEntropyWithLogits", MakeKernel<GpuSparseCrossEntropyKernel>);
  registry.Add("L2Loss", MakeKernel<GpuL2LossKernel>);
  registry.Add("InTopKV2", MakeKernel<GpuInTopKKernel>);
}

}  // namespace weir::cuda
