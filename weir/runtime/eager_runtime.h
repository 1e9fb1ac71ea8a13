// EagerRuntime: eager execution of single operations, with the same kernels as graphs.
//
// A kernel is made for an op, its attributes (types are among them) and a device, and kept. So a random generator with
// a seed goes on where it was, as in a session. Tensors are in the host's memory between operations; for a device with
// memory of its own they are brought there and back.
#ifndef WEIR_RUNTIME_EAGER_RUNTIME_H_
#define WEIR_RUNTIME_EAGER_RUNTIME_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
  std::shared_ptr<const AttrMap> attrs;  // complete: defaults filled in
};

// Thread-safe.
class EagerRuntime {
 public:
  explicit EagerRuntime(std::shared_ptr<Environment> environment);
  ~EagerRuntime();

  // Waits for the end of an operation that has to wait, until the deadline at most. Errors name the op, as TensorFlow's
  // do: "... [Op:MatMul]".
  StatusOr<EagerResult> Run(const OpSchema& schema, std::vector<Tensor> inputs, const AttrMap& attrs,
                            const EagerOptions& options = {});

  // The device with this full or partial name; the first that matches. NOT_FOUND if there is none.
  StatusOr<Device*> FindDevice(std::string_view name) const;
  // What operations may call.
  const std::shared_ptr<FunctionLibrary>& functions() const { return library_; }
  const std::shared_ptr<Environment>& environment() const { return environment_; }
  // Kernels kept now.
  int num_kernels() const;

 private:
  struct Entry;
  struct Key {
    const OpSchema* schema;
    Device* device;
    uint64_t attrs;  // their hash
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.schema, key.device, key.attrs);
    }
  };
  StatusOr<std::shared_ptr<Entry>> FindEntry(const OpSchema& schema, const AttrMap& attrs, Device* device);
  StatusOr<std::shared_ptr<Entry>> MakeEntry(const OpSchema& schema, const AttrMap& attrs, Device* device);
  StatusOr<EagerResult> RunEntry(Entry& entry, std::vector<Tensor> inputs, const EagerOptions& options);

  const std::shared_ptr<Environment> environment_;
  Device* const host_;
  ThreadPool* const inter_op_;
  ThreadPool* const intra_op_;
  const std::shared_ptr<FunctionLibrary> library_;
  std::unique_ptr<LocalFunctionRuntime> functions_;
  ResourceManager step_resources_;  // of operations that keep something for a step: a program is one step
  mutable absl::Mutex mu_;
  absl::flat_hash_map<Key, std::vector<std::shared_ptr<Entry>>> entries_ ABSL_GUARDED_BY(mu_);
  int num_entries_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_EAGER_RUNTIME_H_
