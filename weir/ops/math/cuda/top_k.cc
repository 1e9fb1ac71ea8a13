// TopK and TopKV2 on GPUs.
#include <algorithm>

#include "weir/device/cpu/index_input.h"
#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

constexpr int64_t kChunk = 2048;  // as in the source
constexpr int64_t kItemBytes = 16;

class GpuTopKKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuTopKKernel>();
    if (init.HasAttr("k")) {
      WEIR_ASSIGN_OR_RETURN(kernel->k_, init.Attr<int64_t>("k"));
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    int64_t k = k_;
    if (ctx.num_inputs() == 2) {
      if (!ctx.input(1).shape().IsScalar()) {
        return InvalidArgument("k must be scalar, got shape ", ctx.input(1).shape().ToString());
      }
      WEIR_ASSIGN_OR_RETURN(k, IntScalar(ctx.input(1), "k"));
    }
    if (k < 0) return InvalidArgument("Need k >= 0, got ", k);
    if (x.rank() < 1) return InvalidArgument("input must be >= 1-D, got shape ", x.shape().ToString());
    const int64_t columns = x.dim(x.rank() - 1);
    if (columns < k) return InvalidArgument("input must have at least k columns. Had ", columns, ", needed ", k);
    if (columns >= int64_t{1} << 31) return Unimplemented("TopK of rows of ", columns, " elements");
    Shape shape = x.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(x.rank() - 1, k));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(1, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t rows = x.num_elements() / columns;
    if (k <= kChunk / 4 || columns <= kChunk) return ByChunks(ctx, x, rows, columns, k, *values, *indices);
    return BySorting(ctx, x, rows, columns, k, *values, *indices);
  }

 private:
  static DeviceFunction Function(std::string name) { return {"weir/ops/math/cuda/top_k.cu", std::move(name)}; }

  // Each round leaves the best k of every chunk.
  static Status ByChunks(KernelContext& ctx, const Tensor& x, int64_t rows, int64_t columns, int64_t k,
                         const Tensor& values, const Tensor& indices) {
    const std::string types = Cat(DeviceTypeName(x.dtype()), ", ", DeviceTypeName(indices.dtype()));
    Tensor from;
    int64_t n = columns;
    for (bool is_first = true;; is_first = false) {
      const int64_t chunks = (n + kChunk - 1) / kChunk;
      const bool is_last = chunks == 1;
      Tensor to;
      if (!is_last) {
        WEIR_ASSIGN_OR_RETURN(to, ctx.AllocateTemp(DType::kUInt8, Shape({rows * chunks * k * kItemBytes})));
      }
      const LaunchShape shape{.grid = static_cast<unsigned>(std::min<int64_t>(rows * chunks, 1 << 20)), .block = 256};
      WEIR_RETURN_IF_ERROR(Launch(ctx, Function(Cat("TakeTop<", types, ", ", is_first, ", ", is_last, ">")), shape,
                                  Address(x), columns, from.has_value() ? Address(from) : 0, is_last ? 0 : Address(to),
                                  rows, n, chunks, k, Address(values), Address(indices)));
      if (is_last) return OkStatus();
      from = std::move(to);
      n = chunks * k;
    }
  }

  static Status BySorting(KernelContext& ctx, const Tensor& x, int64_t rows, int64_t columns, int64_t k,
                          const Tensor& values, const Tensor& indices) {
    int64_t padded = 1;
    while (padded < columns) padded *= 2;
    const std::string_view type = DeviceTypeName(x.dtype());
    WEIR_ASSIGN_OR_RETURN(Tensor items, ctx.AllocateTemp(DType::kUInt8, Shape({rows * padded * kItemBytes})));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function(Cat("MakeItems<", type, ">")), rows * padded, Address(x),
                                    Address(items), rows, columns, padded));
    for (int64_t size = 2; size <= padded; size *= 2) {
      for (int64_t distance = size / 2; distance > 0; distance /= 2) {
        WEIR_RETURN_IF_ERROR(
            LaunchOver(ctx, Function("SortStep"), rows * padded / 2, Address(items), rows, padded, size, distance));
      }
    }
    return LaunchOver(ctx, Function(Cat("WriteItems<", type, ", ", DeviceTypeName(indices.dtype()), ">")), rows * k,
                      Address(x), Address(items), rows, columns, padded, k, Address(values), Address(indices));
  }

  int64_t k_ = 0;
};

}  // namespace

void RegisterTopKKernels(GpuRegistry& registry) {
  registry.Add("TopK", MakeKernel<GpuTopKKernel>);
  registry.Add("TopKV2", MakeKernel<GpuTopKKernel>);
}

}  // namespace weir::cuda
