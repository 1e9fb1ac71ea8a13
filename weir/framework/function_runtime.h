// FunctionRuntime: calls functions of the graph's library, for kernels (PartitionedCall, If, While, Map ...).
// Implemented in weir/runtime.
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
  // Finds or compiles a function with these attributes. NOT_FOUND if the library does not have it.
  virtual StatusOr<Handle> Instantiate(const FunctionAttr& function) = 0;
  // The types of an instance's arguments and results.
  virtual const ArgTypes& Types(Handle handle) const = 0;
  // Runs an instance as part of the caller's step, with its cancellation, deadline and step resources.
  virtual void Run(const StepContext& caller, Handle handle, std::vector<Tensor> arguments, Done done) = 0;

  // A runtime for the same functions with kernels of its own, for callers that outlive the step and the session
  // (iterators). It may live as long as the resources of its device.
  virtual StatusOr<std::unique_ptr<FunctionRuntime>> Detach() const {
    return Unimplemented("These functions cannot outlive their session");
  }
  // A fingerprint of what the function computes, whatever its name: equal in every process
  // (framework/node_fingerprint.h).
  virtual StatusOr<uint64_t> Fingerprint(const FunctionAttr& function) const {
    return Unimplemented("These functions have no fingerprint");
  }
  // The StepContext::intra_op for calls outside of any step; may be null.
  virtual ThreadPool* intra_op() const { return nullptr; }
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_FUNCTION_RUNTIME_H_
