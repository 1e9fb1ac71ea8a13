#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

// Passes its input on if all values are finite. V2 tells the infinities apart.
class CheckNumericsKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CheckNumericsKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->message_, init.Attr<std::string>("message"));
    kernel->signed_ = init.schema().name == "CheckNumericsV2";
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    bool nan = false, low = false, high = false;
    const Tensor& x = ctx.input(0);
    DispatchDType(x.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const T& element : x.span<T>()) {
        auto value = Widen(element);
        if (std::isfinite(value)) continue;
        if (std::isnan(value)) {
          nan = true;
        } else {
          (value < 0 ? low : high) = true;
        }
      }
    });
    if (!nan && !low && !high) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    return InvalidArgument(message_, " : Tensor had ", DescribeNumerics(nan, low, high, signed_), " values");
  }

 private:
  std::string message_;
  bool signed_ = false;
};

}  // namespace

void RegisterCheckNumericsKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CheckNumerics").Types("T", FloatTypes{}), MakeKernel<CheckNumericsKernel>);
  registry.Add(KernelBuilder("CheckNumericsV2").Types("T", FloatTypes{}), MakeKernel<CheckNumericsKernel>);
}

}  // namespace weir
