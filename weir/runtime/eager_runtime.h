// EagerRuntime: eager execution of single operations, with the same kernels as graphs.
//
// Kernels are cached by op, attributes (which include the types) and device, so that a seeded random generator
// continues its sequence, as in a session. Tensors stay in the memory of the device that produced them; an operation on
// another device takes a copy. Execution on accelerators is asynchronous: a device may still be busy when an operation
// returns. Only ToHost and Await wait for it, and they report errors that the device found in the meantime.
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
  Device* device = nullptr;  // null: EagerRuntime::Place chooses
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

  // Blocks until the host's part of the operation has ended, or until the deadline. Errors name the op, as TensorFlow's
  // do: "... [Op:MatMul]".
  StatusOr<EagerResult> Run(const OpSchema& schema, std::vector<Tensor> inputs, const AttrMap& attrs,
                            const EagerOptions& options = {});

  // Where an operation runs: on the device of its resource argument, else on the requested device, else on the first
  // accelerator, unless all its inputs are a few integers in host memory. An operation without a kernel on that device
  // runs on the host, and so does an operation without a requested device that would not touch the device's memory.
  struct Choice {
    Device* device = nullptr;
    bool is_asked_for = false;
    bool operator==(const Choice&) const = default;
  };
  Choice Place(const OpSchema& schema, std::span<const Tensor> inputs, Device* asked_for) const;
  // If false, an operation that has no kernel on the requested device is an error. On by default.
  void set_soft_placement(bool allow) { soft_placement_.store(allow, std::memory_order_relaxed); }

  // Logs the device of every operation that runs from now on.
  void set_log_placement(bool log) { log_placement_.store(log, std::memory_order_relaxed); }

  // A kernel that has been looked up, for callers that run the same op repeatedly: language bindings keep one per call
  // signature. Valid as long as the runtime.
  class Prepared;
  StatusOr<std::shared_ptr<const Prepared>> Prepare(const OpSchema& schema, const AttrMap& attrs, Choice choice);
  // Prepares the op for the host.
  StatusOr<std::shared_ptr<const Prepared>> Prepare(const OpSchema& schema, const AttrMap& attrs);
  // Runs the prepared op without a lookup or a lock. Consumes `inputs`. Errors name the op. REQUIRES: the inputs have
  // values of the prepared types.
  using Outputs = absl::InlinedVector<Tensor, 2>;
  Status RunCached(const Prepared& prepared, std::span<Tensor> inputs, Outputs* outputs,
                   const EagerOptions& options = {});

  // A copy of the tensor in host memory, or the tensor itself if it is there already. Waits for the work that computes
  // it. The error may belong to any earlier operation of the same device.
  StatusOr<Tensor> ToHost(const Tensor& tensor);
  // The tensor in the memory of `device`, which may be the host.
  StatusOr<Tensor> ToDevice(const Tensor& tensor, Device& device, DeviceRun* run = nullptr);
  // True for constants that are better kept in host memory: a few integers, and types that only the host supports.
  static bool StaysOnHost(const Tensor& constant);
  static bool IsForHost(DType dtype);
  // The device whose memory holds the tensor.
  Device& Home(const Tensor& tensor) const;
  // Waits for all work of a device (null: of all devices) and returns the first error.
  Status Await(Device* device = nullptr);

  // The first device that matches this full or partial name. NOT_FOUND if there is none.
  StatusOr<Device*> FindDevice(std::string_view name) const;
  // The device that operations run on by default: the first accelerator, or the host if there is none.
  Device* default_device() const { return accelerators().empty() ? host_ : accelerators().front(); }
  Device* host() const { return host_; }
  // The functions that operations may call.
  const std::shared_ptr<FunctionLibrary>& functions() const { return library_; }
  const std::shared_ptr<Environment>& environment() const { return environment_; }
  // Removes a function that its owner no longer needs, and the functions that only it called (FunctionLibrary::Remove).
  void RemoveFunction(std::string_view name, const std::function<bool(std::string_view)>& is_kept);
  // The number of cached kernels.
  int num_kernels() const;
  // Drops the kernels of ops with seeds, so that their sequences start again. Prepared ops keep their kernels.
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
  // All devices except the host. The first call starts them.
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

// What callers may ask about an op that they prepared.
class EagerRuntime::Prepared {
 public:
  const OpSchema& schema() const { return *node.schema; }
  const ArgTypes& types() const { return *node.types; }
  const std::shared_ptr<const AttrMap>& complete_attrs() const { return attrs; }
  const Device& where() const { return *device; }
  // False if the kernel may wait for other work. The caller must then not hold a lock that this work needs.
  bool is_prompt() const { return kernel == nullptr || !kernel->is_async(); }
  bool is_on_host() const { return device->is_host() && !is_call; }

 private:
  friend class EagerRuntime;
  Device* device;
  AttrMap given;  // as the caller wrote them
  std::shared_ptr<const AttrMap> attrs;
  KernelNode node;
  std::shared_ptr<Kernel> kernel;  // null: the op forwards its input, or is a constant
  bool is_constant = false;
  bool is_call = false;           // takes tensors from any device
  std::vector<bool> inputs_move;  // by input: copy it to the device's memory; empty on the host
};

}  // namespace weir

#endif  // WEIR_RUNTIME_EAGER_RUNTIME_H_
