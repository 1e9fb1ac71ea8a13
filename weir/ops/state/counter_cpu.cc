// State that counts: CountUpTo.
#include "weir/ops/state/register.h"
#include "weir/ops/state/update_variable.h"
#include "weir/resources/variable.h"

namespace weir {
namespace {

class CountUpToKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CountUpToKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->limit_, init.Attr<int64_t>("limit"));
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("T"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Tensor before;
    WEIR_RETURN_IF_ERROR(state::UpdateVariable(ctx, dtype_, [&](Tensor& tensor) -> Status {
      if (tensor.rank() != 0) return InvalidArgument("input is not a scalar: ", tensor.shape().ToString());
      Status status;
      DispatchDType(dtype_, IndexTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T& counter = *tensor.data<T>();
        if (counter >= limit_) {
          status = OutOfRange("Reached limit of ", limit_);
          return;
        }
        before = Tensor::Scalar<T>(counter);
        ++counter;
      });
      return status;
    }));
    ctx.set_output(0, std::move(before));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  int64_t limit_ = 0;
  DType dtype_ = DType::kInvalid;
};

}  // namespace

void RegisterCounterKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CountUpTo").Types("T", IndexTypes{}), MakeKernel<CountUpToKernel>);
  registry.Add(KernelBuilder("ResourceCountUpTo").Types("T", IndexTypes{}), MakeKernel<CountUpToKernel>);
}

}  // namespace weir
