// Runs single kernels without a graph or an executor.
//
//   KernelRunner run({RegisterMathKernels});
//   auto out = run("AddV2").Input(Tensor::Scalar(1.f)).Input(Tensor::Scalar(2.f)).Run();
//   ASSERT_TRUE(out.ok()); ExpectTensorEqual((*out)[0], Tensor::Scalar(3.f));
//
// All kernels of one runner share a device with its resources, and the resources of one step.
#ifndef WEIR_TESTING_KERNEL_RUNNER_H_
#define WEIR_TESTING_KERNEL_RUNNER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/framework/kernel_registry.h"
#include "weir/framework/op_registry.h"

namespace weir {

class KernelRunner;

// A kernel made for a node, to be run any number of times. REQUIRES: the runner outlives it and its runs.
class PreparedKernel {
 public:
  // Fills `outputs` (one slot an output). Waits for an asynchronous kernel, at most 60 seconds.
  Status RunSlots(std::vector<Slot> inputs, std::vector<Slot>& outputs);
  // The outputs; that of a ref output is the tensor behind it.
  StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> inputs);

  // Starts the kernel; `done` is called at its end, from any thread. Both are kept alive until then.
  using Done = std::function<void(Status, std::vector<Slot> outputs)>;
  std::shared_ptr<CancellationManager> RunAsync(std::vector<Slot> inputs, Done done);

  Kernel& kernel() { return *state_->kernel; }
  const AttrMap& attrs() const { return state_->attrs; }
  const ArgTypes& types() const { return state_->types; }

 private:
  friend class KernelCall;
  struct State {
    KernelRunner* runner;
    AttrMap attrs;
    ArgTypes types;
    KernelNode node;
    std::unique_ptr<Kernel> kernel;
  };
  std::shared_ptr<State> state_;
};

// A node under construction.
class KernelCall {
 public:
  KernelCall& Name(std::string_view name);
  KernelCall& Attr(std::string_view name, Attribute value);
  KernelCall& Attr(std::string_view name, std::vector<DType> types);
  KernelCall& Attr(std::string_view name, std::vector<int64_t> numbers);
  KernelCall& Input(Tensor tensor);
  KernelCall& Inputs(std::vector<Tensor> tensors);
  KernelCall& RefInput(RefPtr<RefCell> ref);

  // Completes the attributes (types and numbers that the inputs imply, then defaults), checks them and the inputs'
  // types against the schema, and makes the kernel.
  StatusOr<PreparedKernel> Prepare();
  StatusOr<std::vector<Tensor>> Run();
  Status RunSlots(std::vector<Slot>& outputs);
  // The status of making the kernel goes to `done` too; null is returned then.
  std::shared_ptr<CancellationManager> RunAsync(PreparedKernel::Done done);

 private:
  friend class KernelRunner;
  KernelCall(KernelRunner* runner, std::string_view op) : runner_(runner), op_(op), name_(op) {}
  void InferAttrs(const OpSchema& schema);

  KernelRunner* runner_;
  std::string op_;
  std::string name_;
  AttrMap attrs_;
  std::vector<Slot> inputs_;
};

class KernelRunner {
 public:
  using RegisterFunction = void (*)(KernelRegistry&);
  explicit KernelRunner(std::initializer_list<RegisterFunction> families, int num_threads = 2);
  ~KernelRunner();

  KernelCall operator()(std::string_view op) { return KernelCall(this, op); }

  OpRegistry& ops() { return ops_; }
  KernelRegistry& kernels() { return kernels_; }
  Device& device() { return *device_; }
  ResourceManager& step_resources() { return step_resources_; }
  // Drops the step's resources and begins the next.
  void NextStep();
  // What kernels find in their step; null unless set.
  void set_functions(FunctionRuntime* functions) { functions_ = functions; }
  void set_rendezvous(Rendezvous* rendezvous) { rendezvous_ = rendezvous; }

 private:
  friend class PreparedKernel;
  friend class KernelCall;
  StepContext MakeStep(CancellationManager* cancellation);

  OpRegistry ops_;
  Status ops_status_;  // of filling it
  KernelRegistry kernels_;
  std::shared_ptr<Device> device_;
  ResourceManager step_resources_;
  int64_t step_id_ = 1;
  FunctionRuntime* functions_ = nullptr;
  Rendezvous* rendezvous_ = nullptr;
  ThreadPool intra_op_;
  ThreadPool inter_op_;  // declared last: its threads end before what they use
};

}  // namespace weir

#endif  // WEIR_TESTING_KERNEL_RUNNER_H_
