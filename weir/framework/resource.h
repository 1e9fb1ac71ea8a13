// Resources: mutable state that outlives a step. A device has one ResourceManager; its containers hold resources by
// (type, name) until they are cleared.
#ifndef WEIR_FRAMEWORK_RESOURCE_H_
#define WEIR_FRAMEWORK_RESOURCE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

// Shared ownership: a step that found a resource keeps it alive until the step ends, even if it is deleted meanwhile.
class Resource {
 public:
  virtual ~Resource() = default;
  // The type part of the key; TensorFlow's clients treat it as opaque text.
  virtual std::string_view type_name() const = 0;
  virtual std::string DebugString() const { return std::string(type_name()); }
  // Bytes of memory held, 0 if unknown.
  virtual int64_t MemoryUsed() const { return 0; }
  // The tensor that is the entire state of the resource (a variable); otherwise no value.
  virtual Tensor State() const { return Tensor(); }
  // Whether anything else holds State(), so that it must not be modified.
  virtual bool IsStateHeld() const { return false; }

  // Whether a manager has removed it.
  bool is_removed() const { return is_removed_.load(std::memory_order_acquire); }
  void set_removed() { is_removed_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> is_removed_ = false;
};

// Thread-safe.
class ResourceManager {
 public:
  explicit ResourceManager(std::string default_container = "localhost")
      : default_container_(std::move(default_container)) {}

  const std::string& default_container() const { return default_container_; }

  // An empty container name means the default one. ALREADY_EXISTS if the key is taken.
  Status Create(std::string_view container, std::string_view name, std::shared_ptr<Resource> resource);
  // NOT_FOUND: "Resource <container>/<name>/<type> does not exist."
  StatusOr<std::shared_ptr<Resource>> LookUp(std::string_view container, std::string_view type,
                                             std::string_view name) const;
  // T has `static constexpr std::string_view kTypeName`.
  template <typename T>
  StatusOr<std::shared_ptr<T>> LookUp(std::string_view container, std::string_view name) const {
    auto found = LookUp(container, T::kTypeName, name);
    if (!found.ok()) return found.status();
    return std::static_pointer_cast<T>(*std::move(found));
  }
  // Finds the resource, or creates it with `creator`, which runs under the manager's lock and must not call back.
  template <typename T>
  StatusOr<std::shared_ptr<T>> LookUpOrCreate(std::string_view container, std::string_view name,
                                              const std::function<StatusOr<std::shared_ptr<T>>()>& creator) {
    auto found = LookUpOrCreateAny(container, T::kTypeName, name, [&]() -> StatusOr<std::shared_ptr<Resource>> {
      auto made = creator();
      if (!made.ok()) return made.status();
      return std::shared_ptr<Resource>(*std::move(made));
    });
    if (!found.ok()) return found.status();
    return std::static_pointer_cast<T>(*std::move(found));
  }
  StatusOr<std::shared_ptr<Resource>> LookUpOrCreateAny(
      std::string_view container, std::string_view type, std::string_view name,
      const std::function<StatusOr<std::shared_ptr<Resource>>()>& creator);
  Status Delete(std::string_view container, std::string_view type, std::string_view name);
  // Drops everything in the container; OK if there is none.
  void ClearContainer(std::string_view container);
  void ClearAll();
  // A process-wide number for the names of unnamed resources: "_<n>_<node>".
  static int64_t NextUniqueId();
  // All resources, one per line, for debugging.
  std::string DebugString() const;

 private:
  using Container = StringMap<std::shared_ptr<Resource>>;  // key: type + '\0' + name
  const std::string default_container_;
  mutable absl::Mutex mu_;
  StringMap<Container> containers_ ABSL_GUARDED_BY(mu_);
};

// The memory behind a reference edge (of VariableV2 and the like): a tensor with a lock, shared by all holders.
struct RefCell : RefCounted<RefCell> {
  absl::Mutex mu;
  Tensor tensor ABSL_GUARDED_BY(mu);  // no value before initialization
  DType dtype = DType::kInvalid;
  std::string name;    // of the node that created it; for messages
  PartialShape shape;  // as declared by the node
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_RESOURCE_H_
