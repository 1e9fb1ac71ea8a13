#include "weir/runtime/kernel_cache.h"

#include "weir/framework/call_kernel.h"
#include "weir/framework/scratch.h"

namespace weir {
namespace {

// Kernels of such nodes hold data of their node.
bool HasTensorAttr(const Node& node) {
  for (const auto& [name, value] : node.attrs) {
    if (value.get_if<Tensor>() != nullptr) return true;
  }
  return false;
}

// Kernels that mention their node in errors take its name from the context, so sharing is safe.
bool IsShareable(const Node& node) { return !node.schema->is_stateful && !HasTensorAttr(node); }

// Compares attributes, except those that only the client or the placer reads (`_class`, `_output_shapes` ...).
bool SameKernelAttrs(const AttrMap& a, const AttrMap& b) {
  auto matters = [](const AttrMap::Entry& entry) {
    return entry.first[0] != '_' || entry.first == "_kernel" || entry.first == "_constant_weights" ||
           entry.first == "_winograd";
  };
  auto i = a.begin();
  auto j = b.begin();
  while (true) {
    while (i != a.end() && !matters(*i)) ++i;
    while (j != b.end() && !matters(*j)) ++j;
    if (i == a.end() || j == b.end()) return i == a.end() && j == b.end();
    if (i->first != j->first || !(i->second == j->second)) return false;
    ++i;
    ++j;
  }
}

}  // namespace

StatusOr<std::shared_ptr<Kernel>> KernelCache::Make(const Node& node, Device* device) const {
  StatusOr<const KernelEntry*> found = registry_.Find(node.op(), device->type(), node.attrs);
  if (!found.ok() && functions_ != nullptr && functions_->Contains(node.op())) {
    return std::shared_ptr<Kernel>(std::make_shared<CallKernel>(FunctionAttr{node.op(), node.attrs}));
  }
  WEIR_ASSIGN_OR_RETURN(const KernelEntry* def, std::move(found));
  KernelInit init(node.name, *node.schema, node.attrs, *node.types, device, functions_);
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, WithinMemory([&] { return def->factory(init); }));
  return std::shared_ptr<Kernel>(std::move(kernel));
}

StatusOr<std::shared_ptr<Kernel>> KernelCache::Get(const Node& node, Device* device) {
  if (!IsShareable(node)) {
    if (!node.schema->is_stateful) return Make(node, device);
    std::string key = Cat(device->name(), ";", node.name, ";", node.op());
    {
      absl::MutexLock lock(&mu_);
      auto found = stateful_.find(key);
      if (found != stateful_.end()) return found->second;
    }
    // Without the lock, because a factory may instantiate functions, which look up kernels in turn.
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Kernel> kernel, Make(node, device));
    absl::MutexLock lock(&mu_);
    return stateful_.emplace(std::move(key), std::move(kernel)).first->second;
  }
  std::string key = Cat(device->name(), ";", node.op());
  {
    absl::MutexLock lock(&mu_);
    auto found = stateless_.find(key);
    if (found != stateless_.end()) {
      for (const Shared& shared : found->second) {
        if (SameKernelAttrs(shared.attrs, node.attrs)) return shared.kernel;
      }
    }
  }
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Kernel> kernel, Make(node, device));
  absl::MutexLock lock(&mu_);
  std::vector<Shared>& all = stateless_[key];
  // A long list would cost more to search than sharing saves.
  if (all.size() < 64) all.push_back({node.attrs, kernel});
  return kernel;
}

}  // namespace weir
