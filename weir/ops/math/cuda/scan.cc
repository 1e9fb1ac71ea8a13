// Running sums, and places of extremes, along an axis on GPUs.
#include "weir/device/cuda/scan.h"

#include <algorithm>

#include "weir/ops/cuda/register.h"
#include "weir/ops/math/kernel_shapes.h"

namespace weir::cuda {
namespace {

class ScanKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, const char* operation) {
    auto kernel = std::make_unique<ScanKernel>();
    kernel->options_.operation = operation;
    WEIR_ASSIGN_OR_RETURN(kernel->options_.exclusive, init.Attr<bool>("exclusive"));
    WEIR_ASSIGN_OR_RETURN(kernel->options_.reverse, init.Attr<bool>("reverse"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(AxisSizes sizes, ScanAxis(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    return ScanLines(ctx, options_, x.dtype(), sizes.outer, sizes.n, sizes.inner, Address(x), Address(*out));
  }

 private:
  ScanOptions options_;
};

class ArgExtremeKernel : public Kernel {
 public:
  explicit ArgExtremeKernel(bool is_max) : is_max_(is_max) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    Shape shape;
    WEIR_ASSIGN_OR_RETURN(AxisSizes sizes, ArgExtremeAxis(ctx, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    constexpr std::string_view kSource = "weir/ops/math/cuda/arg_max.cu";
    const std::string types = Cat(DeviceTypeName(x.dtype()), ", ", DeviceTypeName(out->dtype()), ", ", is_max_, ">");
    if (sizes.inner == 1 && sizes.n >= 128) {
      const LaunchShape launch{.grid = static_cast<unsigned>(std::min<int64_t>(sizes.outer, 1 << 20)), .block = 256};
      return Launch(ctx, {kSource, Cat("ArgExtremeOfRow<", types)}, launch, Address(x), sizes.outer, sizes.n,
                    Address(*out));
    }
    return LaunchOver(ctx, {kSource, Cat("ArgExtreme<", types)}, shape.num_elements(), Address(x), sizes.outer, sizes.n,
                      sizes.inner, Address(*out));
  }

 private:
  const bool is_max_;
};

}  // namespace

void RegisterScanKernels(GpuRegistry& registry) {
  const std::pair<const char*, const char*> scans[] = {
      {"Cumsum", "ScanSum"}, {"Cumprod", "ScanProd"}, {"CumulativeLogsumexp", "ScanLogSumExp"}};
  for (auto [op, operation] : scans) {
    registry.Add(op, [operation = operation](const KernelInit& init) { return ScanKernel::Make(init, operation); });
  }
  for (const char* op : {"ArgMax", "ArgMin"}) {
    registry.Add(op, [](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::make_unique<ArgExtremeKernel>(init.schema().name == "ArgMax");
    });
  }
}

}  // namespace weir::cuda
