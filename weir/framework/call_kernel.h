// Kernels that call functions.
#ifndef WEIR_FRAMEWORK_CALL_KERNEL_H_
#define WEIR_FRAMEWORK_CALL_KERNEL_H_

#include <optional>

#include "absl/synchronization/mutex.h"
#include "weir/framework/function_runtime.h"

namespace weir {

// A function that a kernel calls. It is instantiated at the first call, because functions may be recursive.
// Thread-safe.
class LazyFunction {
 public:
  explicit LazyFunction(FunctionAttr function) : function_(std::move(function)) {}
  const std::string& name() const { return function_.name; }
  StatusOr<FunctionRuntime::Handle> Handle(FunctionRuntime* runtime);
  // Runs the function, after instantiating it if necessary. FAILED_PRECONDITION if the step has no functions.
  void Run(const StepContext& step, std::vector<Tensor> arguments, FunctionRuntime::Done done);

 private:
  const FunctionAttr function_;
  absl::Mutex mu_;
  std::optional<FunctionRuntime::Handle> handle_ ABSL_GUARDED_BY(mu_);
};

// PartitionedCall and the like: all inputs are arguments, all outputs are results.
class CallKernel : public AsyncKernel {
 public:
  explicit CallKernel(FunctionAttr function) : function_(std::move(function)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init);  // attribute `f`
  void ComputeAsync(KernelContext& ctx, Completion done) override;

 private:
  LazyFunction function_;
};

// Moves a function's results to the context's outputs. INTERNAL if their number is wrong.
Status SetOutputs(KernelContext& ctx, std::vector<Tensor> results);
// Moves all inputs from `first` on out of the context.
std::vector<Tensor> TakeInputs(KernelContext& ctx, int first = 0);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_CALL_KERNEL_H_
