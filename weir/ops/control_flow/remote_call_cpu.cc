// RemoteCall: a function called on a named device.
#include "weir/framework/call_kernel.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/control_flow/register.h"

namespace weir {
namespace {

// That `own`, where the call was placed, is not the device that is wanted.
Status Elsewhere(const DeviceName& wanted, const DeviceName& own) {
  const DeviceName full = wanted.MergedOver(own);
  if (own.job == "localhost" || (full.job == own.job && full.replica == own.replica && full.task == own.task)) {
    return Internal("Currently don't support instantiating functions on device: ", full.ToString());
  }
  return Unimplemented("The call was placed on ", own.ToString(), ", its target is ", wanted.ToString(),
                       ": a call runs in another task only if its target is a constant of the graph");
}

class RemoteCallKernel : public AsyncKernel {
 public:
  explicit RemoteCallKernel(FunctionAttr function) : function_(std::move(function)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr function, init.Attr<FunctionAttr>("f"));
    return std::unique_ptr<Kernel>(std::make_unique<RemoteCallKernel>(std::move(function)));
  }
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    const Tensor& target = ctx.input(0);
    if (target.num_elements() != 1) return done(InvalidArgument("target must be a scalar"));
    const std::string& text = *target.data<std::string>();
    StatusOr<DeviceName> wanted = DeviceName::Parse(text);
    const bool is_bare_word = !text.empty() && text.find_first_of("/:") == std::string::npos;
    if (!wanted.ok() || is_bare_word)
      return done(InvalidArgument("Could not parse ", text, " into a device specification."));
    // The placer has put a call whose target is a constant there.
    StatusOr<DeviceName> own = DeviceName::Parse(ctx.device().name());
    if (!own.ok()) return done(own.status());
    if (!own->Matches(*wanted)) return done(Elsewhere(*wanted, *own));
    auto finish = std::make_shared<Completion>(std::move(done));
    function_.Run(ctx.step(), TakeInputs(ctx, 1), [&ctx, finish](Status status, std::vector<Tensor> results) {
      if (status.ok()) status = SetOutputs(ctx, std::move(results));
      (*finish)(std::move(status));
    });
  }

 private:
  LazyFunction function_;
};

}  // namespace

void RegisterRemoteCallKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RemoteCall"), MakeKernel<RemoteCallKernel>);
}

}  // namespace weir
