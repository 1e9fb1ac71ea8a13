// The functions of one session, each compiled once.
#ifndef WEIR_RUNTIME_FUNCTION_RUNTIME_H_
#define WEIR_RUNTIME_FUNCTION_RUNTIME_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/framework/function_runtime.h"
#include "weir/graph/function_library.h"
#include "weir/runtime/executor.h"
#include "weir/runtime/graph_compiler.h"
#include "weir/runtime/local_rendezvous.h"

namespace weir {

// Thread-safe. An instance lives as long as the runtime.
class LocalFunctionRuntime : public FunctionRuntime {
 public:
  // REQUIRES: `kernels` and `intra_op` outlive the runtime and the runtimes detached from it. `compiler` places the
  // nodes of function bodies on its devices. Arguments may be in any device's memory; results are in host memory,
  // unless the caller has a keeper (StepContext). A body is compiled separately for each combination of devices that
  // its arguments and resource handles come from.
  LocalFunctionRuntime(std::shared_ptr<FunctionLibrary> library, const KernelRegistry& kernels, ThreadPool* intra_op,
                       std::shared_ptr<const GraphCompiler> compiler);
  ~LocalFunctionRuntime() override;

  bool Contains(std::string_view function) const override { return library_->Contains(function); }
  StatusOr<Handle> Instantiate(const FunctionAttr& function) override;
  const ArgTypes& Types(Handle handle) const override;
  void Run(const StepContext& caller, Handle handle, std::vector<Tensor> arguments, Done done) override;
  StatusOr<std::unique_ptr<FunctionRuntime>> Detach() const override;
  StatusOr<uint64_t> Fingerprint(const FunctionAttr& function) const override;
  ThreadPool* intra_op() const override { return intra_op_; }
  // Drops the compiled instances of the named functions. REQUIRES: none of them is running, and none will be called
  // again.
  void Forget(std::span<const std::string> names);

 private:
  struct Instance {
    FunctionAttr function;
    ArgTypes types;
    std::unique_ptr<KernelCache> kernels;            // each instance has its own kernel state
    std::vector<std::unique_ptr<PlanRunPool>> runs;  // one per device used
    bool is_local = true;                            // all nodes run on one host device
    // The same body, compiled for arguments that are in the memory of other devices than the host.
    absl::Mutex mu;
    std::map<BodyPlaces, std::unique_ptr<Instance>> placed ABSL_GUARDED_BY(mu);
  };
  struct Call;

  StatusOr<std::unique_ptr<Instance>> Compile(const FunctionAttr& function, const BodyPlaces& places);
  // The instance for these arguments. Arguments that the body needs in host memory are copied there.
  StatusOr<Instance*> Fit(Instance* instance, const StepContext& caller, std::vector<Tensor>& arguments);
  Instance* Get(Handle handle) const;
  static void Start(Call* call);
  static void OnPlanDone(Call* call, const Status& status);
  static void Finish(Call* call);

  const std::shared_ptr<FunctionLibrary> library_;
  const KernelRegistry& kernels_;
  ThreadPool* const intra_op_;
  const std::shared_ptr<const GraphCompiler> compiler_;
  mutable absl::Mutex mu_;
  StringMap<Handle> handles_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Instance>> instances_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_FUNCTION_RUNTIME_H_
