// The functions of one session, compiled once each.
#ifndef WEIR_RUNTIME_FUNCTION_RUNTIME_H_
#define WEIR_RUNTIME_FUNCTION_RUNTIME_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/framework/function_runtime.h"
#include "weir/graph/function_library.h"
#include "weir/runtime/executor.h"

namespace weir {

// Thread-safe. An instance lives as long as the runtime.
class LocalFunctionRuntime : public FunctionRuntime {
 public:
  // How a body becomes a graph that can be compiled (inlining, lowering, rewriting).
  // Constants are folded by kernels of the given cache. It outlives the session.
  using Prepare = std::function<Status(Graph*, KernelCache&)>;

  // REQUIRES: all outlive the runtime and those detached from it. Functions run on `device`.
  LocalFunctionRuntime(std::shared_ptr<FunctionLibrary> library, const KernelRegistry& kernels, Device* device,
                       ThreadPool* intra_op, Prepare prepare);
  ~LocalFunctionRuntime() override;

  bool Contains(std::string_view function) const override { return library_->Contains(function); }
  StatusOr<Handle> Instantiate(const FunctionAttr& function) override;
  const ArgTypes& Types(Handle handle) const override;
  void Run(const StepContext& caller, Handle handle, std::vector<Tensor> arguments, Done done) override;
  StatusOr<std::unique_ptr<FunctionRuntime>> Detach() const override;
  StatusOr<uint64_t> Fingerprint(const FunctionAttr& function) const override;
  ThreadPool* intra_op() const override { return intra_op_; }

 private:
  struct Instance {
    ArgTypes types;
    std::unique_ptr<KernelCache> kernels;  // state of kernels belongs to the instance
    std::unique_ptr<PlanRunPool> runs;
  };
  StatusOr<std::unique_ptr<Instance>> Compile(const FunctionAttr& function);
  Instance* Get(Handle handle) const;

  const std::shared_ptr<FunctionLibrary> library_;
  const KernelRegistry& kernels_;
  Device* const device_;
  ThreadPool* const intra_op_;
  const Prepare prepare_;
  mutable absl::Mutex mu_;
  StringMap<Handle> handles_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Instance>> instances_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_FUNCTION_RUNTIME_H_
