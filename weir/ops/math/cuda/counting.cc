// Bincount, HistogramFixedWidth, Bucketize and Cross on GPUs.
#include <algorithm>

#include "weir/device/cuda/slices.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/kernel_shapes.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/math/cuda/counting.cu", std::move(name)}; }

class BincountKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BincountKernel>();
    kernel->flat_ = init.schema().name == "Bincount";
    if (init.HasAttr("binary_output")) {
      WEIR_ASSIGN_OR_RETURN(kernel->binary_, init.Attr<bool>("binary_output"));
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &weights = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(BincountSizes sizes, CheckBincount(ctx, flat_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
    const int64_t n = x.num_elements();
    if (n == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor bins, ctx.AllocateTemp(DType::kInt64, Shape({n})));
    WEIR_ASSIGN_OR_RETURN(DeviceAddress is_negative,
                          ErrorFlag(ctx, InvalidArgument("Input arr must be non-negative!")));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function(Cat("BinsOf<", DeviceTypeName(x.dtype()), ">")), n, Address(x), n,
                                    sizes.width, sizes.size, Address(bins), is_negative));
    const int64_t limit = out->num_elements();
    if (limit == 0) return OkStatus();
    SliceUpdate update;
    update.limits = {&limit, 1};
    update.rows = n;
    update.skips_negative = true;
    update.operation = binary_ ? "KeepHigher" : "AddV2";
    if (!binary_ && weights.num_elements() > 0) return UpdateSlices(ctx, update, bins, weights, Address(*out));
    update.is_scalar = true;
    WEIR_ASSIGN_OR_RETURN(Tensor one, One(ctx, out->dtype()));
    return UpdateSlices(ctx, update, bins, one, Address(*out));
  }

 private:
  static StatusOr<Tensor> One(KernelContext& ctx, DType dtype) {
    const int32_t integer = 1;
    const float real = 1;
    WEIR_ASSIGN_OR_RETURN(
        Tensor bytes, Upload(ctx, dtype == DType::kFloat ? static_cast<const void*>(&real) : &integer, SizeOf(dtype)));
    return bytes.Bitcast(dtype, Shape({1}));
  }

  bool flat_ = false, binary_ = false;
};

class HistogramKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(HistogramSizes sizes, CheckHistogram(ctx));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make({&sizes.bins, 1}));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
    WEIR_ASSIGN_OR_RETURN(DeviceAddress is_nan,
                          ErrorFlag(ctx, InvalidArgument("Histogram values must not contain NaN")));
    return LaunchOver(ctx, Function(Cat("FixedWidthBins<", DeviceTypeName(values.dtype()), ">")), values.num_elements(),
                      Address(values), values.num_elements(), sizes.low,
                      (sizes.high - sizes.low) / static_cast<double>(sizes.bins), sizes.bins, Address(*out), is_nan);
  }
};

class BucketizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BucketizeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->boundaries_, init.Attr<std::vector<float>>("boundaries"));
    if (!std::is_sorted(kernel->boundaries_.begin(), kernel->boundaries_.end())) {
      return InvalidArgument("Expected sorted boundaries");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor boundaries, Upload(ctx, boundaries_));
    return LaunchOver(ctx, Function(Cat("Bucketize<", DeviceTypeName(x.dtype()), ">")), x.num_elements(), Address(x),
                      x.num_elements(), Address(boundaries), static_cast<int64_t>(boundaries_.size()), Address(*out));
  }

 private:
  std::vector<float> boundaries_;
};

class CrossKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckCross(a.shape(), b.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.shape()));
    return LaunchOver(ctx, Function(Cat("CrossRows<", DeviceTypeName(a.dtype()), ">")), a.num_elements(), Address(a),
                      Address(b), Address(*out), a.num_elements());
  }
};

}  // namespace

void RegisterCountingKernels(GpuRegistry& registry) {
  registry.Add("Bincount", MakeKernel<BincountKernel>);
  registry.Add("DenseBincount", MakeKernel<BincountKernel>);
  registry.Add("HistogramFixedWidth", MakeKernel<HistogramKernel>);
  registry.Add("Bucketize", MakeKernel<BucketizeKernel>);
  registry.Add("Cross", MakeKernel<CrossKernel>);
}

}  // namespace weir::cuda
