// Nodes that own a resource (tables, accumulators, mutexes), and the two kinds of handles: a resource tensor, and the
// older reference to the strings [container, name].
#ifndef WEIR_FRAMEWORK_RESOURCE_NODE_H_
#define WEIR_FRAMEWORK_RESOURCE_NODE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "weir/framework/kernel.h"

namespace weir {

struct ResourceKey {
  std::string container;
  std::string name;
  bool is_private = false;  // has no public name, so it is deleted with its kernel
};

// The attributes `container` (default: the device's default container) and `shared_name`. If the latter is empty: the
// node's name if `use_node_name`, else a unique name, "_<n>_<node>".
StatusOr<ResourceKey> NodeResourceKey(const KernelInit& init, bool use_node_name);

// The handle, and a scalar tensor with the handle.
ResourceHandle MakeResourceHandle(const Device& device, const ResourceKey& key, std::string_view type_name);
Tensor HandleTensor(ResourceHandle handle);

// The resource behind input `i`, for either kind of handle.
StatusOr<std::shared_ptr<Resource>> FindByHandle(KernelContext& ctx, int i, std::string_view type_name);
template <typename T>
StatusOr<std::shared_ptr<T>> FindByHandle(KernelContext& ctx, int i) {
  auto found = FindByHandle(ctx, i, T::kTypeName);
  if (!found.ok()) return found.status();
  return std::static_pointer_cast<T>(*std::move(found));
}

// A node whose only output is the handle of its resource. The first run finds or creates the resource, and so does the
// first run after its container was cleared.
class ResourceNodeKernel : public Kernel {
 public:
  ~ResourceNodeKernel() override;
  Status Compute(KernelContext& ctx) final;
  bool is_expensive() const override { return false; }

 protected:
  // REQUIRES: init.device() is not null.
  ResourceNodeKernel(const KernelInit& init, ResourceKey key, std::string_view type_name);

  virtual StatusOr<std::shared_ptr<Resource>> Create(KernelContext& ctx) = 0;
  // Returns an error if a resource that another node created does not match this one.
  virtual Status Verify(const Resource& resource) { return OkStatus(); }
  const ResourceKey& key() const { return key_; }

 private:
  const ResourceKey key_;
  const std::string type_name_;
  const bool is_ref_;
  const std::shared_ptr<ResourceManager> resources_;
  absl::Mutex mu_;
  std::weak_ptr<Resource> resource_ ABSL_GUARDED_BY(mu_);  // the last one found or created
  Slot handle_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_RESOURCE_NODE_H_
