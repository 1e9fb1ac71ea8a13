#include "weir/framework/call_kernel.h"

namespace weir {

StatusOr<FunctionRuntime::Handle> LazyFunction::Handle(FunctionRuntime* runtime) {
  if (runtime == nullptr) return FailedPrecondition("No function library is provided.");
  {
    absl::MutexLock lock(&mu_);
    if (handle_.has_value()) return *handle_;
  }
  // Without the lock: compiling the body may come back here for the same kernel's neighbours.
  WEIR_ASSIGN_OR_RETURN(FunctionRuntime::Handle handle, runtime->Instantiate(function_));
  absl::MutexLock lock(&mu_);
  handle_ = handle;
  return handle;
}

void LazyFunction::Run(const StepContext& step, std::vector<Tensor> arguments, FunctionRuntime::Done done) {
  StatusOr<FunctionRuntime::Handle> handle = Handle(step.functions);
  if (!handle.ok()) return done(handle.status(), {});
  step.functions->Run(step, *handle, std::move(arguments), std::move(done));
}

StatusOr<std::unique_ptr<Kernel>> CallKernel::Make(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(FunctionAttr function, init.Attr<FunctionAttr>("f"));
  return std::unique_ptr<Kernel>(std::make_unique<CallKernel>(std::move(function)));
}

void CallKernel::ComputeAsync(KernelContext& ctx, Completion done) {
  auto finish = std::make_shared<Completion>(std::move(done));
  function_.Run(ctx.step(), TakeInputs(ctx), [&ctx, finish](Status status, std::vector<Tensor> results) {
    if (status.ok()) status = SetOutputs(ctx, std::move(results));
    (*finish)(std::move(status));
  });
}

Status SetOutputs(KernelContext& ctx, std::vector<Tensor> results) {
  if (static_cast<int>(results.size()) != ctx.num_outputs()) {
    return Internal("A function gave ", results.size(), " results where ", ctx.num_outputs(), " were expected");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const DType wanted = ctx.output_type(static_cast<int>(i));
    if (results[i].dtype() != wanted) {
      return InvalidArgument("A function gave ", Name(results[i].dtype()), " for result ", i, " where ", Name(wanted),
                             " was expected");
    }
    ctx.set_output(static_cast<int>(i), std::move(results[i]));
  }
  return OkStatus();
}

std::vector<Tensor> TakeInputs(KernelContext& ctx, int first) {
  std::vector<Tensor> out;
  for (int i = first; i < ctx.num_inputs(); ++i) out.push_back(ctx.TakeInput(i));
  return out;
}

}  // namespace weir
