#include "weir/ops/queue/handle.h"

#include <utility>

namespace weir {
namespace {

bool IsContainerName(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    if (!alnum && (i == 0 || (c != '_' && c != '-' && c != '/'))) return false;
  }
  return true;
}

}  // namespace

StatusOr<std::pair<std::string, std::string>> RefHandleInput(KernelContext& ctx, int i) {
  Tensor pair = ctx.input(i);
  if (ctx.is_ref_input(i)) {
    RefCell& cell = ctx.ref_input(i);
    absl::MutexLock lock(&cell.mu);
    pair = cell.tensor;
  }
  if (pair.dtype() != DType::kString || pair.num_elements() != 2) {
    return InvalidArgument("Resource handle must have 2 elements, but had shape: ", pair.shape().ToString());
  }
  const std::string* text = pair.data<std::string>();
  return std::make_pair(text[0], text[1]);
}

StatusOr<std::shared_ptr<Resource>> LookUpByHandle(KernelContext& ctx, int i, std::string_view type_name) {
  if (!ctx.is_ref_input(i) && ctx.input(i).dtype() == DType::kResource) return LookUpResourceAny(ctx, i, type_name);
  WEIR_ASSIGN_OR_RETURN(auto place, RefHandleInput(ctx, i));
  return ctx.resources().LookUp(place.first, type_name, place.second);
}

RefPtr<RefCell> MakeRefHandle(std::string container, std::string name) {
  RefPtr<RefCell> cell = MakeRef<RefCell>();
  absl::MutexLock lock(&cell->mu);
  cell->dtype = DType::kString;
  cell->tensor = Tensor::Vector<std::string>({std::move(container), std::move(name)});
  return cell;
}

Status ResourceHandleKernel::Init(const KernelInit& init, std::string_view type_name) {
  type_name_ = type_name;
  node_name_ = init.node_name();
  WEIR_ASSIGN_OR_RETURN(container_, init.Attr<std::string>("container"));
  WEIR_ASSIGN_OR_RETURN(shared_name_, init.Attr<std::string>("shared_name"));
  if (!IsContainerName(container_)) {
    return InvalidArgument("container contains invalid characters: ", container_);
  }
  if (shared_name_.starts_with('_')) return InvalidArgument("shared_name cannot start with '_':", shared_name_);
  ref_output_ = !init.types().outputs.empty() && IsRef(init.types().outputs[0]);
  return OkStatus();
}

ResourceHandleKernel::~ResourceHandleKernel() {
  absl::MutexLock lock(&mu_);
  if (manager_ == nullptr || !shared_name_.empty()) return;
  std::shared_ptr<Resource> mine = resource_.lock();
  auto found = manager_->LookUp(container_, type_name_, name_);
  // NOT_FOUND: somebody cleared the container first.
  if (found.ok() && *found == mine) manager_->Delete(container_, type_name_, name_).IgnoreError();
}

Status ResourceHandleKernel::MakeHandleLocked(KernelContext& ctx) {
  manager_ = ctx.device().shared_resources();
  if (name_.empty()) {
    name_ = shared_name_.empty() ? Cat("_", ResourceManager::NextUniqueId(), "_", node_name_) : shared_name_;
  }
  auto found = manager_->LookUpOrCreateAny(container_, type_name_, name_, [&] { return Create(name_); });
  if (!found.ok()) return found.status();
  WEIR_RETURN_IF_ERROR(Verify(**found));
  const std::string& container = container_.empty() ? manager_->default_container() : container_;
  if (ref_output_) {
    if (!ref_handle_) ref_handle_ = MakeRefHandle(container, name_);
  } else {
    ResourceHandle handle;
    handle.device = ctx.device().name();
    handle.container = container;
    handle.name = name_;
    handle.type_name = type_name_;
    handle.hash_code = absl::Hash<std::string_view>{}(type_name_);
    handle.resource = *found;
    handle_ = Tensor::Scalar(std::move(handle));
  }
  resource_ = *found;
  return OkStatus();
}

Status ResourceHandleKernel::Compute(KernelContext& ctx) {
  absl::MutexLock lock(&mu_);
  // Looked up every time, so that a cleared container is noticed.
  bool current = false;
  if (manager_ != nullptr) {
    auto found = manager_->LookUp(container_, type_name_, name_);
    current = found.ok() && *found == resource_.lock();
  }
  if (!current) WEIR_RETURN_IF_ERROR(MakeHandleLocked(ctx));
  if (ref_output_) {
    ctx.set_output_ref(0, ref_handle_);
  } else {
    ctx.set_output(0, handle_);
  }
  return OkStatus();
}

}  // namespace weir
