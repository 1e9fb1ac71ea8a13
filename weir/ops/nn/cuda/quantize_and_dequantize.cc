// QuantizeAndDequantizeV2, V3, V4 and the gradient of V4 on GPUs.
#include "weir/device/cuda/reduction.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/nn/rounding.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string_view name, DType dtype) {
  return {"weir/ops/nn/cuda/quantize.cu", Cat(name, "<", DeviceTypeName(dtype), ">")};
}

// As device code declares it.
struct DeviceRounding {
  int64_t count = 1, inner = 1, lowest = 0, highest = 0;
  int32_t range_given = 0, half_up = 0;
};

StatusOr<Tensor> UploadTensor(KernelContext& ctx, const Tensor& host) {
  return Upload(ctx, host.raw_data(), host.num_bytes());
}

class RoundingKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RoundingKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->rounding_, nn::Rounding::Read(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(int64_t bits, rounding_.Bits(ctx));
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, rounding_.SlicesOf(ctx));
    Tensor limits[2];
    if (rounding_.range_given) {
      WEIR_RETURN_IF_ERROR(CheckRange(ctx.input(1), ctx.input(2)));
      for (int i = 0; i < 2; ++i) {
        WEIR_ASSIGN_OR_RETURN(limits[i], UploadTensor(ctx, ctx.input(i + 1)));
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    const int64_t n = x.num_elements();
    if (n == 0) return OkStatus();
    for (int i = 0; i < 2 && !rounding_.range_given; ++i) {
      WEIR_ASSIGN_OR_RETURN(limits[i], ctx.AllocateTemp(x.dtype(), Shape({slices.count})));
      WEIR_ASSIGN_OR_RETURN(Tensor flat, x.Reshaped(Shape({slices.outer, slices.count, slices.inner})));
      WEIR_RETURN_IF_ERROR(
          Reduce(ctx, i == 0 ? "LeastNumber" : "GreatestNumber", flat, {true, false, true}, limits[i]));
    }
    const DeviceRounding rounding{slices.count,           slices.inner,
                                  rounding_.Lowest(bits), rounding_.Highest(bits),
                                  rounding_.range_given,  rounding_.half_up};
    return LaunchOver(ctx, Function("RoundToLevels", x.dtype()), n, rounding, Address(x), Address(limits[0]),
                      Address(limits[1]), Address(*out), n);
  }

 private:
  static Status CheckRange(const Tensor& mins, const Tensor& maxs) {
    Status status;
    DispatchDType(mins.dtype(), TypeList<float, double>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < mins.num_elements() && status.ok(); ++i) {
        const T min = mins.data<T>()[i], max = maxs.data<T>()[i];
        if (min > max) status = InvalidArgument("Invalid range: input_min ", min, " > input_max ", max);
      }
    });
    return status;
  }

  nn::Rounding rounding_;
};

class RoundingGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RoundingGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->axis_, init.Attr<int64_t>("axis"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &gradient = ctx.input(0), &x = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(nn::Slices slices, nn::RoundingGradSlices(ctx, axis_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    for (int i = 1; i < 3; ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor * zeros, ctx.AllocateOutput(i, ctx.input(i + 1).shape()));
      WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*zeros), zeros->num_bytes()));
    }
    const int64_t n = x.num_elements();
    if (n == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor mins, UploadTensor(ctx, ctx.input(2)));
    WEIR_ASSIGN_OR_RETURN(Tensor maxs, UploadTensor(ctx, ctx.input(3)));
    return LaunchOver(ctx, Function("PassInRange", x.dtype()), n, slices.count, slices.inner, Address(gradient),
                      Address(x), Address(mins), Address(maxs), Address(*out), n);
  }

 private:
  int64_t axis_ = -1;
};

}  // namespace

void RegisterQuantizeAndDequantizeKernels(GpuRegistry& registry) {
  for (const char* op : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"}) {
    registry.Add(op, MakeKernel<RoundingKernel>);
  }
  registry.Add("QuantizeAndDequantizeV4Grad", MakeKernel<RoundingGradKernel>);
}

}  // namespace weir::cuda
