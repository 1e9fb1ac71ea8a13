// _SparseCrossEntropy and its gradient on GPUs.
#include "weir/ops/nn/cross_entropy.h"

#include <algorithm>

#include "weir/device/cuda/launch.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

constexpr char kSource[] = "weir/ops/nn/cuda/cross_entropy.cu";

// Elements that a thread takes at once: 16 bytes of the logits, if all rows begin at such places.
int64_t VectorOf(DType dtype, int64_t row) {
  const int64_t vector = 16 / static_cast<int64_t>(SizeOf(dtype));
  return row % vector == 0 ? vector : 1;
}
LaunchShape RowsShape(int64_t rows, int64_t pieces) {
  unsigned block = 32;
  while (block < 1024 && static_cast<int64_t>(block) * 2 < pieces) block *= 2;
  return {.grid = static_cast<unsigned>(std::clamp<int64_t>(rows, 1, 1 << 20)), .block = block};
}

class LossKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &logits = ctx.input(0), &labels = ctx.input(1);
    WEIR_RETURN_IF_ERROR(nn::CheckSparseCrossEntropy(logits.shape(), labels.shape()));
    const int64_t rows = logits.dim(0), n = logits.dim(1), vector = VectorOf(logits.dtype(), n);
    WEIR_ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, labels.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * log_sums, ctx.AllocateOutput(1, labels.shape()));
    if (rows == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(
        DeviceAddress error,
        ErrorWord(ctx, InvalidArgument("Received a label value which is outside the valid range of [0, ", n, ")")));
    const std::string name =
        Cat("SparseLoss<", DeviceTypeName(logits.dtype()), ", ", DeviceTypeName(labels.dtype()), ", ", vector, ">");
    return Launch(ctx, {kSource, name}, RowsShape(rows, n / vector), Address(logits), Address(labels), Address(*loss),
                  Address(*log_sums), rows, n, error);
  }
};

class LossGradientKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &logits = ctx.input(0), &labels = ctx.input(1);
    WEIR_RETURN_IF_ERROR(nn::CheckSparseCrossEntropy(logits.shape(), labels.shape()));
    for (int i : {2, 3}) {
      if (ctx.input(i).shape() != labels.shape()) {
        return InvalidArgument(ctx.node().schema->inputs[i].name, " must have the shape of labels ",
                               labels.shape().ToString(), ", got ", ctx.input(i).shape().ToString());
      }
    }
    const int64_t rows = logits.dim(0), n = logits.dim(1), vector = VectorOf(logits.dtype(), n);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, logits.shape()));
    if (rows == 0) return OkStatus();
    const std::string name = Cat("SparseLossGradient<", DeviceTypeName(logits.dtype()), ", ",
                                 DeviceTypeName(out->dtype()), ", ", DeviceTypeName(labels.dtype()), ", ", vector, ">");
    return Launch(ctx, {kSource, name}, RowsShape(rows, n / vector), Address(logits), Address(labels),
                  Address(ctx.input(2)), Address(ctx.input(3)), Address(*out), rows, n);
  }
};

}  // namespace

void RegisterCrossEntropyKernels(GpuRegistry& registry) {
  const std::vector<DType> floats = {DType::kFloat, DType::kHalf, DType::kBFloat16};
  const std::vector<DType> labels = {DType::kInt32, DType::kInt64};
  registry.kernels().Add(OnGpu("_SparseCrossEntropy").Types("T", floats).Types("Tlabels", labels),
                         MakeKernel<LossKernel>);
  registry.kernels().Add(
      OnGpu("_SparseCrossEntropyGrad").Types("T", floats).Types("U", floats).Types("Tlabels", labels),
      MakeKernel<LossGradientKernel>);
}

}  // namespace weir::cuda
