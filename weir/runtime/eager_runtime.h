// EagerRuntime: eager execution of single operations, with the same kernels as graphs.
//
// Kernels are cached by op, attributes (which include the types) and device, so that a seeded random generator
// continues its sequence, as in a session. Between operations, tensors are in host memory; they are copied to and from
// devices that have their own memory.
#ifndef WEIR_RUNTIME_EAGER_RUNTIME_H_
#define WEIR_RUNTIME_EAGER_RUNTIME_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/runtime/environment.h"
#include "weir/runtime/function_runtime.h"

namespace weir {

struct EagerOptions {
  Device* device = nullptr;  // null: the host
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

  // Blocks until the operation has ended, or until the deadline. Errors name the op, as TensorFlow's do:
  // "... [Op:MatMul]".
  StatusOr<EagerResult> Run(const OpSchema& schema, std::vector<Tensor> inputs, const AttrMap& attrs,
                            const EagerOptions& options = {});

  // A kernel that was found once, for callers that run the same op again and again: language bindings keep one per call
  // signature. Valid as long as the runtime.
  class Prepared;
  StatusOr<std::shared_ptr<const Prepared>> Prepare(const OpSchema& schema, const AttrMap& attrs,
                                                    Device* device = nullptr);
  // Runs it without looking anything up or taking a lock. `inputs` are consumed. Errors name the op.
  // REQUIRES: the inputs have values of the prepared types.
  using Outputs = absl::InlinedVector<Tensor, 2>;
  Status RunCached(const Prepared& prepared, std::span<Tensor> inputs, Outputs* outputs,
                   const EagerOptions& options = {});

  // The first device that matches this full or partial name. NOT_FOUND if there is none.
  StatusOr<Device*> FindDevice(std::string_view name) const;
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
    Device* device;
    uint64_t attrs;  // hash of the attributes
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.schema, key.device, key.attrs);
    }
  };
  StatusOr<std::shared_ptr<Entry>> FindEntry(const OpSchema& schema, const AttrMap& attrs, Device* device);
  StatusOr<std::shared_ptr<Entry>> MakeEntry(const OpSchema& schema, const AttrMap& attrs, Device* device);
  Status RunEntry(const Entry& entry, std::span<Tensor> inputs, Outputs* outputs, const EagerOptions& options);

  const std::shared_ptr<Environment> environment_;
  Device* const host_;
  ThreadPool* const inter_op_;
  ThreadPool* const intra_op_;
  const std::shared_ptr<FunctionLibrary> library_;
  std::unique_ptr<LocalFunctionRuntime> functions_;
  ResourceManager step_resources_;  // per-step state: an eager program counts as a single step
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
  // False if the kernel may wait for other work: nothing may be held meanwhile that such work needs.
  bool is_prompt() const { return kernel == nullptr || !kernel->is_async(); }
  bool is_on_host() const { return inputs_move.empty() && outputs_move.empty(); }

 private:
  friend class EagerRuntime;
  Device* device;
  AttrMap given;  // as the caller wrote them
  std::shared_ptr<const AttrMap> attrs;
  KernelNode node;
  std::shared_ptr<Kernel> kernel;  // null: the op passes its input on, or is a constant
  bool is_constant = false;
  std::vector<bool> inputs_move;  // to the device's memory; empty if it is the host's
  std::vector<bool> outputs_move;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_EAGER_RUNTIME_H_
