// FunctionRuntime: how kernels (PartitionedCall, If, While, Map ...) call functions of the graph's library. The runtime
// room implements it.
#ifndef WEIR_FRAMEWORK_FUNCTION_RUNTIME_H_
#define WEIR_FRAMEWORK_FUNCTION_RUNTIME_H_

#include <functional>
#include <vector>

#include "weir/framework/kernel.h"

namespace weir {

class FunctionRuntime {
 public:
  using Handle = uint64_t;
  using Done = std::function<void(Status, std::vector<Tensor>)>;
  virtual ~FunctionRuntime() = default;

  virtual bool Contains(std::string_view function) const = 0;
  // Finds or makes the compiled form of a function with these attributes. NOT_FOUND if the library lacks it.
  virtual StatusOr<Handle> Instantiate(const FunctionAttr& function) = 0;
  // Types of the arguments and results of an instance.
  virtual const ArgTypes& Types(Handle handle) const = 0;
  // Runs an instance as part of the caller's step: its cancellation, deadline and step resources.
  virtual void Run(const StepContext& caller, Handle handle, std::vector<Tensor> arguments, Done done) = 0;

  // A runtime over the same functions with kernels of its own, for who calls functions beyond the step and the session
  // (iterators). It may live as long as the resources of its device.
  virtual StatusOr<std::unique_ptr<FunctionRuntime>> Detach() const {
    return Unimplemented("These functions cannot outlive their session");
  }
  // What stands for the function whatever it is called: equal in every process (framework/node_fingerprint.h).
  virtual StatusOr<uint64_t> Fingerprint(const FunctionAttr& function) const {
    return Unimplemented("These functions have no fingerprint");
  }
  // For StepContext::intra_op of calls that belong to no step; null if there is none.
  virtual ThreadPool* intra_op() const { return nullptr; }
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_FUNCTION_RUNTIME_H_
