#include "weir/framework/resource_node.h"

namespace weir {

StatusOr<ResourceKey> NodeResourceKey(const KernelInit& init, bool use_node_name) {
  if (init.device() == nullptr) return Internal("Node ", init.node_name(), " needs a device for its resource");
  ResourceKey key;
  WEIR_ASSIGN_OR_RETURN(key.container, init.Attr<std::string>("container"));
  WEIR_ASSIGN_OR_RETURN(key.name, init.Attr<std::string>("shared_name"));
  if (key.container.empty()) key.container = init.device()->resources().default_container();
  if (key.name.empty() && use_node_name) key.name = init.node_name();
  if (key.name.empty()) {
    key.name = Cat("_", ResourceManager::NextUniqueId(), "_", init.node_name());
    key.is_private = true;
  }
  return key;
}

ResourceHandle MakeResourceHandle(const Device& device, const ResourceKey& key, std::string_view type_name) {
  ResourceHandle handle;
  handle.device = device.name();
  handle.container = key.container;
  handle.name = key.name;
  handle.type_name = type_name;
  handle.hash_code = std::hash<std::string_view>{}(type_name);
  return handle;
}

Tensor HandleTensor(ResourceHandle handle) { return Tensor::Scalar<ResourceHandle>(std::move(handle)); }

StatusOr<std::shared_ptr<Resource>> FindByHandle(KernelContext& ctx, int i, std::string_view type_name) {
  Tensor handle;
  if (ctx.is_ref_input(i)) {
    RefCell& cell = ctx.ref_input(i);
    absl::ReaderMutexLock lock(&cell.mu);
    handle = cell.tensor;
  } else if (ctx.input(i).dtype() == DType::kString) {
    handle = ctx.input(i);
  } else {
    return LookUpResourceAny(ctx, i, type_name);
  }
  if (handle.dtype() != DType::kString || handle.num_elements() != 2) {
    return InvalidArgument("Resource handle must have two elements, but had shape: ", handle.shape().ToString());
  }
  auto parts = handle.span<std::string>();
  return ctx.resources().LookUp(parts[0], type_name, parts[1]);
}

ResourceNodeKernel::ResourceNodeKernel(const KernelInit& init, ResourceKey key, std::string_view type_name)
    : key_(std::move(key)),
      type_name_(type_name),
      is_ref_(IsRef(init.types().outputs[0])),
      resources_(init.device()->shared_resources()) {}

ResourceNodeKernel::~ResourceNodeKernel() {
  if (!key_.is_private) return;
  absl::MutexLock lock(&mu_);
  // Already gone if its container was cleared.
  if (handle_.has_value()) resources_->Delete(key_.container, type_name_, key_.name).IgnoreError();
}

Status ResourceNodeKernel::Compute(KernelContext& ctx) {
  absl::MutexLock lock(&mu_);
  auto found = resources_->LookUp(key_.container, type_name_, key_.name);
  if (!found.ok() || *found != resource_.lock()) {
    WEIR_ASSIGN_OR_RETURN(
        std::shared_ptr<Resource> resource,
        resources_->LookUpOrCreateAny(key_.container, type_name_, key_.name, [&] { return Create(ctx); }));
    WEIR_RETURN_IF_ERROR(Verify(*resource));
    if (is_ref_) {
      handle_.ref = MakeRef<RefCell>();
      absl::MutexLock cell_lock(&handle_.ref->mu);
      handle_.ref->dtype = DType::kString;
      handle_.ref->tensor = Tensor::Vector<std::string>({key_.container, key_.name});
    } else {
      handle_.tensor = HandleTensor(MakeResourceHandle(ctx.device(), key_, type_name_));
    }
    resource_ = resource;
  }
  ctx.output_slot(0) = handle_;
  return OkStatus();
}

}  // namespace weir
