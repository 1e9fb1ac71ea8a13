// How kernels of this family make and find their resources: through a resource handle (V2 ops), or through a reference
// to the string pair [container, name] (the old forms).
#ifndef WEIR_OPS_QUEUE_HANDLE_H_
#define WEIR_OPS_QUEUE_HANDLE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "weir/framework/kernel.h"

namespace weir {

// The [container, name] behind a ref(string) input. INVALID_ARGUMENT if it is no such pair.
StatusOr<std::pair<std::string, std::string>> RefHandleInput(KernelContext& ctx, int i);

// The resource that input `i` names, by either form of handle.
StatusOr<std::shared_ptr<Resource>> LookUpByHandle(KernelContext& ctx, int i, std::string_view type_name);
template <typename T>
StatusOr<std::shared_ptr<T>> LookUpByHandle(KernelContext& ctx, int i) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Resource> found, LookUpByHandle(ctx, i, T::kTypeName));
  return std::static_pointer_cast<T>(std::move(found));
}

// The kernel of an op whose one output is the handle of a resource in a container: made at the first run, or found there
// under `shared_name`; made again if the container was cleared since. A resource without a shared name is this kernel's
// own, and goes with it.
class ResourceHandleKernel : public Kernel {
 public:
  ~ResourceHandleKernel() override;
  Status Compute(KernelContext& ctx) final;
  bool is_expensive() const override { return false; }

 protected:
  // Takes the node's attributes `container` and `shared_name`.
  Status Init(const KernelInit& init, std::string_view type_name);
  virtual StatusOr<std::shared_ptr<Resource>> Create(const std::string& name) = 0;
  // INVALID_ARGUMENT if a resource found under the shared name does not fit this node.
  virtual Status Verify(const Resource& resource) = 0;

 private:
  Status MakeHandleLocked(KernelContext& ctx) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::string type_name_;
  std::string node_name_;
  std::string container_;
  std::string shared_name_;
  bool ref_output_ = false;
  absl::Mutex mu_;
  std::string name_ ABSL_GUARDED_BY(mu_);
  std::weak_ptr<Resource> resource_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<ResourceManager> manager_ ABSL_GUARDED_BY(mu_);
  Tensor handle_ ABSL_GUARDED_BY(mu_);
  RefPtr<RefCell> ref_handle_ ABSL_GUARDED_BY(mu_);
};

// A ref cell that holds the pair.
RefPtr<RefCell> MakeRefHandle(std::string container, std::string name);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_HANDLE_H_
