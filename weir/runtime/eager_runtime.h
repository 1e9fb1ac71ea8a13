// EagerRuntime: eager execution of single operations, with the same kernels as graphs.
//
// Kernels are cached by op, attributes (which include the types) and device, so that a seeded random generator
// continues its sequence, as in a session. Tensors stay in the memory of the device that made them; whoever needs them
// elsewhere gets a copy. A device may still be at work when an operation returns: only ToHost and Await wait, and they
// give the errors that the device has found meanwhile.
#ifndef WEIR_RUNTIME_EAGER_RUNTIME_H_
#define WEIR_RUNTIME_EAGER_RUNTIME_H_

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/runtime/environment.h"
#include "weir/runtime/function_runtime.h"
#include "weir/runtime/unfinished_runs.h"

namespace weir {

struct EagerOptions {
  Device* device = nullptr;  // null: where the operation goes by itself (EagerRuntime::Place)
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // may be null
};

struct EagerResult {
  std::vector<Tensor> outputs;
  std::shared_ptr<const AttrMap> attrs;  // complete, including defaults
};

// Thread-safe.
class EagerRuntime {
 public:
  explicit EagerRuntime(std::shared_ptr<Environment> environment);
  ~EagerRuntime();

  // Blocks until the operation has ended as far as the host is concerned, or until the deadline. Errors name the op, as
  // TensorFlow's do: "... [Op:MatMul]".
  StatusOr<EagerResult> Run(const OpSchema& schema, std::vector<Tensor> inputs, const AttrMap& attrs,
                            const EagerOptions& options = {});

  // Where an operation runs: on the device of the resource that it is given, else on the one that was asked for, else
  // on the first accelerator - unless all it is given are a few integers in the host's memory. An operation that has no
  // kernel there runs on the host, and so does one that nobody placed and that would not touch the device's memory.
  struct Choice {
    Device* device = nullptr;
    bool is_asked_for = false;
    bool operator==(const Choice&) const = default;
  };
  Choice Place(const OpSchema& schema, std::span<const Tensor> inputs, Device* asked_for) const;
  // Without it, an operation that has no kernel on the device that was asked for is an error. On at first.
  void set_soft_placement(bool allow) { soft_placement_.store(allow, std::memory_order_relaxed); }

  // Logs the device of every operation that runs from now on.
  void set_log_placement(bool log) { log_placement_.store(log, std::memory_order_relaxed); }

  // A kernel that was found once, for callers that run the same op again and again: language bindings keep one per call
  // signature. Valid as long as the runtime.
  class Prepared;
  StatusOr<std::shared_ptr<const Prepared>> Prepare(const OpSchema& schema, const AttrMap& attrs, Choice choice);
  // For the host.
  StatusOr<std::shared_ptr<const Prepared>> Prepare(const OpSchema& schema, const AttrMap& attrs);
  // Runs it without looking anything up or taking a lock. `inputs` are consumed. Errors name the op.
  // REQUIRES: the inputs have values of the prepared types.
  using Outputs = absl::InlinedVector<Tensor, 2>;
  Status RunCached(const Prepared& prepared, std::span<Tensor> inputs, Outputs* outputs,
                   const EagerOptions& options = {});

  // The tensor in the host's memory; waits for the work that makes it. The error may be that of any operation that its
  // device ran before.
  StatusOr<Tensor> ToHost(const Tensor& tensor);
  // The tensor in a device's memory, the host's too.
  StatusOr<Tensor> ToDevice(const Tensor& tensor, Device& device, DeviceRun* run = nullptr);
  // True for constants that are better kept in the host's memory: few integers, and types that only the host has.
  static bool StaysOnHost(const Tensor& constant);
  static bool IsForHost(DType dtype);
  // Whose memory it is in.
  Device& Home(const Tensor& tensor) const;
  // Waits for all work of a device (null: of all), and gives its first error.
  Status Await(Device* device = nullptr);

  // The first device that matches this full or partial name. NOT_FOUND if there is none.
  StatusOr<Device*> FindDevice(std::string_view name) const;
  // Where operations go by default: the first accelerator, or the host.
  Device* default_device() const { return accelerators().empty() ? host_ : accelerators().front(); }
  Device* host() const { return host_; }
  // The functions that operations may call.
  const std::shared_ptr<FunctionLibrary>& functions() const { return library_; }
  const std::shared_ptr<Environment>& environment() const { return environment_; }
  // Removes a function that its owner has given up, with what only it called (FunctionLibrary::Remove).
  void RemoveFunction(std::string_view name, const std::function<bool(std::string_view)>& is_kept);
  // The number of cached kernels.
  int num_kernels() const;
  // Drops the kernels of ops with seeds, so that their sequences start anew. Prepared ones stay as they are.
  void ForgetSeeded();

 private:
  using Entry = Prepared;
  struct Key {
    const OpSchema* schema;
    Choice choice;
    uint64_t attrs;  // hash of the attributes
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.schema, key.choice.device, key.choice.is_asked_for, key.attrs);
    }
  };
  StatusOr<std::shared_ptr<Entry>> FindEntry(const OpSchema& schema, const AttrMap& attrs, Choice choice);
  StatusOr<std::shared_ptr<Entry>> MakeEntry(const OpSchema& schema, const AttrMap& attrs, Choice choice);
  // Devices other than the host, which the first call starts.
  const std::vector<Device*>& accelerators() const;
  FunctionRuntime* Functions() const;
  StatusOr<Device*> Settle(const Node& node, Choice choice) const;
  Status RunEntry(const Entry& entry, std::span<Tensor> inputs, Outputs* outputs, const EagerOptions& options);
  Status RunKernel(const Entry& entry, DeviceRun* run, std::span<Tensor> inputs, Outputs* outputs,
                   const EagerOptions& options);
  Status PassOn(const Entry& entry, std::span<Tensor> inputs, Outputs* outputs);
  Status Bring(Tensor* tensor, Device& device, DeviceRun* run);
  Status BringVariants(Tensor* variants, Device& device, DeviceRun* run);

  const std::shared_ptr<Environment> environment_;
  Device* const host_;
  mutable absl::once_flag started_;
  mutable std::vector<Device*> accelerators_;
  ThreadPool* const inter_op_;
  ThreadPool* const intra_op_;
  const std::shared_ptr<FunctionLibrary> library_;
  mutable std::unique_ptr<LocalFunctionRuntime> functions_;
  mutable std::atomic<FunctionRuntime*> started_functions_ = nullptr;
  ResourceManager step_resources_;  // per-step state: an eager program counts as a single step
  std::atomic<bool> soft_placement_ = true, log_placement_ = false;
  UnfinishedRuns unfinished_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<Key, std::vector<std::shared_ptr<Entry>>> entries_ ABSL_GUARDED_BY(mu_);
  int num_entries_ ABSL_GUARDED_BY(mu_) = 0;
};

// What a caller that prepared an op may ask.
class EagerRuntime::Prepared {
 public:
  const OpSchema& schema() const { return *node.schema; }
  const ArgTypes& types() const { return *node.types; }
  const std::shared_ptr<const AttrMap>& complete_attrs() const { return attrs; }
  const Device& where() const { return *device; }
  // False if the kernel may wait for other work: nothing may be held meanwhile that such work needs.
  bool is_prompt() const { return kernel == nullptr || !kernel->is_async(); }
  bool is_on_host() const { return device->is_host() && !is_call; }

 private:
  friend class EagerRuntime;
  Device* device;
  AttrMap given;  // as the caller wrote them
  std::shared_ptr<const AttrMap> attrs;
  KernelNode node;
  std::shared_ptr<Kernel> kernel;  // null: the op passes its input on, or is a constant
  bool is_constant = false;
  bool is_call = false;           // takes tensors wherever they are
  std::vector<bool> inputs_move;  // to the device's memory; empty if it is the host's
};

}  // namespace weir

#endif  // WEIR_RUNTIME_EAGER_RUNTIME_H_
