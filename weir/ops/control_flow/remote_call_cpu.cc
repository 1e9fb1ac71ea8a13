// RemoteCall: a function called on a named device.
#include <algorithm>
#include <cctype>

#include "weir/framework/call_kernel.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/control_flow/register.h"

namespace weir {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// The value of "/key:value" in a device name, without regard to case; empty if it is not there.
std::string Part(std::string_view device, std::string_view key) {
  const std::string text = Lower(device), start = Cat("/", key, ":");
  size_t begin = text.find(start);
  if (begin == std::string::npos) return {};
  begin += start.size();
  return text.substr(begin, std::min(text.find('/', begin), text.size()) - begin);
}

// What `target` says of the device is true of `device`: a partial name is enough.
bool Names(std::string_view target, std::string_view device) {
  for (const char* key : {"job", "replica", "task"}) {
    const std::string part = Part(target, key);
    if (!part.empty() && part != Part(device, key)) return false;
  }
  std::string wanted = Part(target, "device");
  if (wanted.empty() && !Part(target, "cpu").empty()) wanted = "cpu:" + Part(target, "cpu");
  if (wanted.empty() && !Part(target, "gpu").empty()) wanted = "gpu:" + Part(target, "gpu");
  const std::string own = Part(device, "device");
  return wanted.empty() || wanted == own || wanted == own.substr(0, own.find(':'));
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
    if (!target.shape().IsScalar()) return done(InvalidArgument("target must be a scalar"));
    if (!Names(target.scalar<std::string>(), ctx.device().name())) {
      return done(Unimplemented("The call was placed on ", ctx.device().name(), ", its target is ",
                                target.scalar<std::string>(),
                                ": a call runs on another device only if its target is a constant of the graph"));
    }
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
