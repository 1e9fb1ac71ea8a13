// Kernel: the code of an operation on one kind of device, and its view of a running step.
//
// A kernel is created once per node (stateful operations: once per session) and then run by many steps and threads
// concurrently, so Compute must not modify the kernel without a lock. It returns a Status; the executor adds the node's
// name.
#ifndef WEIR_FRAMEWORK_KERNEL_H_
#define WEIR_FRAMEWORK_KERNEL_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/base/export.h"
#include "weir/base/thread_pool.h"
#include "weir/framework/device.h"
#include "weir/framework/op_schema.h"
#include "weir/framework/resource.h"

namespace WEIR_PUBLIC weir {

class FunctionRuntime;
class KernelContext;
class Rendezvous;

// A value on an edge: a tensor, a reference to a variable's memory, or nothing (dead).
struct Slot {
  Tensor tensor;
  RefPtr<RefCell> ref;
  bool has_value() const { return tensor.has_value() || ref; }
  void Clear() {
    tensor = Tensor();
    ref = nullptr;
  }
};

// Reports the end of an asynchronous kernel exactly once; if it is destroyed without a call, it reports INTERNAL.
class Completion {
 public:
  Completion() = default;
  explicit Completion(std::function<void(Status)> done) : done_(std::move(done)) {}
  Completion(Completion&& other) noexcept : done_(std::exchange(other.done_, nullptr)) {}
  Completion& operator=(Completion&& other) noexcept {
    std::swap(done_, other.done_);
    return *this;
  }
  ~Completion() {
    if (done_) done_(Internal("An asynchronous kernel was dropped without finishing"));
  }
  void operator()(Status status) { std::exchange(done_, nullptr)(std::move(status)); }
  explicit operator bool() const { return done_ != nullptr; }

 private:
  std::function<void(Status)> done_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // REQUIRES: the kernel is not asynchronous.
  virtual Status Compute(KernelContext& ctx) = 0;
  // An asynchronous kernel (one that may wait: queues, Recv, function calls) overrides both. `ctx` lives until `done`
  // is called; `done` may be called on any thread, also before ComputeAsync returns. ComputeAsync must never block.
  virtual bool is_async() const { return false; }
  virtual void ComputeAsync(KernelContext& ctx, Completion done) { done(Compute(ctx)); }
  // False if the kernel takes at most a few hundred nanoseconds for inputs of any size (Identity, Shape). It is then
  // always run inline.
  virtual bool is_expensive() const { return true; }
  // For stateful ops: whether work that one run enqueued on a device may be replayed in place of another run
  // (DeviceRun::StartRecording).
  virtual bool is_repeatable() const { return false; }
};

class AsyncKernel : public Kernel {
 public:
  bool is_async() const final { return true; }
  Status Compute(KernelContext&) final { return Internal("Compute of an asynchronous kernel was called"); }
  void ComputeAsync(KernelContext& ctx, Completion done) override = 0;
};

// The node's attributes and types, for a kernel's factory. Expensive derived values should be computed here, once.
class KernelInit {
 public:
  KernelInit(std::string_view node_name, const OpSchema& schema, const AttrMap& attrs, const ArgTypes& types,
             Device* device, FunctionRuntime* functions)
      : node_name_(node_name), schema_(schema), attrs_(attrs), types_(types), device_(device), functions_(functions) {}

  std::string_view node_name() const { return node_name_; }
  const OpSchema& schema() const { return schema_; }
  const AttrMap& attrs() const { return attrs_; }
  template <typename T>
  StatusOr<T> Attr(std::string_view name) const {
    return GetAttr<T>(attrs_, name);
  }
  bool HasAttr(std::string_view name) const { return attrs_.Find(name) != nullptr; }
  int num_inputs() const { return static_cast<int>(types_.inputs.size()); }
  int num_outputs() const { return static_cast<int>(types_.outputs.size()); }
  DType input_type(int i) const { return BaseType(types_.inputs[i]); }
  DType output_type(int i) const { return BaseType(types_.outputs[i]); }
  const ArgTypes& types() const { return types_; }
  Device* device() const { return device_; }  // null without a device
  FunctionRuntime* functions() const { return functions_; }

 private:
  std::string_view node_name_;
  const OpSchema& schema_;
  const AttrMap& attrs_;
  const ArgTypes& types_;
  Device* device_;
  FunctionRuntime* functions_;
};

// The context that all kernels of one step on one device share. Owned by the executor's step.
struct StepContext {
  int64_t step_id = 0;
  Device* device = nullptr;
  DeviceRun* device_run = nullptr;                    // the device's work for this run; null on the host
  ThreadPool* intra_op = nullptr;                     // for ParallelFor; never null
  std::function<void(std::function<void()>)> runner;  // starts a closure in the inter-op pool
  CancellationManager* cancellation = nullptr;        // never null
  Rendezvous* rendezvous = nullptr;                   // null if the step has none
  FunctionRuntime* functions = nullptr;               // null if the graph has no function
  ResourceManager* step_resources = nullptr;          // emptied at the end of the step: stacks, TensorArrays
  absl::Time deadline = absl::InfiniteFuture();
  std::string_view session_handle;
  bool deterministic = false;
  int pipelined_steps = 0;  // > 0: the run may end before its work on the device (SessionOptions)
  int call_depth = 0;       // the number of functions around the node
  // Set for calls of a function from outside of any function: takes over the work that devices still do when the
  // function ends, and results stay in the devices' memory. If null, the call ends after all of its work, with its
  // results in host memory.
  RunKeeper* keeper = nullptr;
};

// What a running kernel knows about its node; owned by the plan.
struct KernelNode {
  std::string name;
  const OpSchema* schema = nullptr;
  std::shared_ptr<const ArgTypes> types;  // shared by nodes with equal types
};

class KernelContext {
 public:
  KernelContext(const StepContext& step, const KernelNode& node, std::span<Slot> inputs, std::span<Slot> outputs)
      : KernelContext(step, node, *node.types, inputs, outputs) {}
  // `types` are the node's types; passed separately so that a step need not access the node's own memory.
  KernelContext(const StepContext& step, const KernelNode& node, const ArgTypes& types, std::span<Slot> inputs,
                std::span<Slot> outputs)
      : step_(&step), node_(&node), types_(&types), inputs_(inputs), outputs_(outputs) {}

  const StepContext& step() const { return *step_; }
  const std::string& node_name() const { return node_->name; }
  const KernelNode& node() const { return *node_; }
  Device& device() const { return *step_->device; }
  ResourceManager& resources() const { return step_->device->resources(); }
  CancellationManager& cancellation() const { return *step_->cancellation; }
  // The frame and iteration of the loop that contains the node; 0, 0 outside of loops.
  uint64_t frame_id() const { return frame_id_; }
  int64_t iteration() const { return iteration_; }
  void set_frame(uint64_t frame_id, int64_t iteration) {
    frame_id_ = frame_id;
    iteration_ = iteration;
  }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const Tensor& input(int i) const { return inputs_[i].tensor; }
  bool has_input(int i) const { return inputs_[i].has_value(); }
  // Moves the input out of the context, so that the caller may be its only holder.
  Tensor TakeInput(int i) { return std::move(inputs_[i].tensor); }

  // A reference input. REQUIRES: the schema declares input `i` as a reference.
  RefCell& ref_input(int i) const { return *inputs_[i].ref; }
  const RefPtr<RefCell>& ref_input_ptr(int i) const { return inputs_[i].ref; }
  bool is_ref_input(int i) const { return static_cast<bool>(inputs_[i].ref); }

  void set_output(int i, Tensor tensor) { outputs_[i].tensor = std::move(tensor); }
  void set_output_ref(int i, RefPtr<RefCell> ref) { outputs_[i].ref = std::move(ref); }
  void ForwardRefInput(int input, int output) { outputs_[output].ref = inputs_[input].ref; }
  const Tensor& output(int i) const { return outputs_[i].tensor; }
  Slot& output_slot(int i) { return outputs_[i]; }
  Slot& input_slot(int i) { return inputs_[i]; }

  DType output_type(int i) const { return BaseType(types_->outputs[i]); }
  // Allocates output `i` with its declared type; the pointer stays valid while the kernel runs.
  StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape);
  StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape);
  // Allocates an output in host memory, on a device with memory of its own.
  StatusOr<Tensor> AllocateHost(DType dtype, const Shape& shape);
  // Like AllocateOutput, but reuses the memory of one of `candidates` if this node is its last user and its element
  // size and element count fit. That input may then only be read through the returned output.
  StatusOr<Tensor*> ForwardOrAllocateOutput(std::span<const int> candidates, int output, const Shape& shape);
  StatusOr<Tensor*> ForwardOrAllocateOutput(std::initializer_list<int> candidates, int output, const Shape& shape) {
    return ForwardOrAllocateOutput(std::span<const int>(candidates.begin(), candidates.size()), output, shape);
  }

  // Splits [0, total) over the intra-op pool; see ThreadPool::ParallelFor.
  void ParallelFor(int64_t total, double unit_cost_ns, absl::FunctionRef<void(int64_t, int64_t)> body) const {
    step_->intra_op->ParallelFor(total, unit_cost_ns, body);
  }

 private:
  const StepContext* step_;
  const KernelNode* node_;
  const ArgTypes* types_;
  std::span<Slot> inputs_;
  std::span<Slot> outputs_;
  uint64_t frame_id_ = 0;
  int64_t iteration_ = 0;
};

// Looks up a resource of type T through the handle in input `i` (a scalar resource tensor). INVALID_ARGUMENT if the
// input is not a handle or the resource has another type, NOT_FOUND if there is no such resource.
template <typename T>
StatusOr<std::shared_ptr<T>> LookUpResource(KernelContext& ctx, int i);
StatusOr<std::shared_ptr<Resource>> LookUpResourceAny(KernelContext& ctx, int i, std::string_view type_name);
// The handle in input `i`.
StatusOr<const ResourceHandle*> HandleInput(KernelContext& ctx, int i);

template <typename T>
StatusOr<std::shared_ptr<T>> LookUpResource(KernelContext& ctx, int i) {
  auto found = LookUpResourceAny(ctx, i, T::kTypeName);
  if (!found.ok()) return found.status();
  return std::static_pointer_cast<T>(*std::move(found));
}

}  // namespace weir

#endif  // WEIR_FRAMEWORK_KERNEL_H_
