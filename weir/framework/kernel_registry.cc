#include "weir/framework/kernel_registry.h"

#include <algorithm>

namespace weir {
namespace {

bool Allows(const KernelEntry::Constraint& constraint, const AttrMap& attrs) {
  const Attribute* value = attrs.Find(constraint.attr);
  if (value == nullptr) return false;
  auto allowed = [&](DType type) {
    return std::find(constraint.types.begin(), constraint.types.end(), type) != constraint.types.end();
  };
  if (const DType* type = value->get_if<DType>()) return allowed(*type);
  if (const AttrList* list = value->get_if<AttrList>()) {
    return std::all_of(list->type.begin(), list->type.end(), allowed);
  }
  return false;
}

std::string KernelLabel(const AttrMap& attrs) {
  const Attribute* value = attrs.Find("_kernel");
  const std::string* label = value != nullptr ? value->get_if<std::string>() : nullptr;
  return label != nullptr ? *label : std::string();
}

bool Fits(const KernelEntry& def, const AttrMap& attrs, const std::string& label) {
  return def.label == label && std::all_of(def.constraints.begin(), def.constraints.end(),
                                           [&](const auto& constraint) { return Allows(constraint, attrs); });
}

std::string Describe(const AttrMap& attrs) {
  std::string out;
  for (const auto& [name, value] : attrs) out += Cat(out.empty() ? "" : ", ", name, "=", value.ToString());
  return out;
}

std::string Describe(const KernelEntry& def) {
  std::string out = Cat("  device='", def.device_type, "'");
  for (const auto& constraint : def.constraints) {
    out += Cat("; ", constraint.attr, " in [");
    for (size_t i = 0; i < constraint.types.size(); ++i) out += Cat(i > 0 ? ", " : "", Name(constraint.types[i]));
    out += "]";
  }
  return out;
}

}  // namespace

void KernelRegistry::Register(KernelEntry def) {
  absl::MutexLock lock(&mu_);
  auto& kernels = kernels_[def.op];
  kernels.push_back(std::make_unique<KernelEntry>(std::move(def)));
}

StatusOr<const KernelEntry*> KernelRegistry::Find(std::string_view op, std::string_view device_type,
                                                  const AttrMap& attrs) const {
  std::string label = KernelLabel(attrs);
  absl::ReaderMutexLock lock(&mu_);
  const KernelEntry* best = nullptr;
  auto found = kernels_.find(op);
  if (found != kernels_.end()) {
    for (const auto& def : found->second) {
      if (def->device_type != device_type || !Fits(*def, attrs, label)) continue;
      if (best == nullptr || def->priority > best->priority) best = def.get();
    }
  }
  if (best != nullptr) return best;
  std::string known;
  if (found != kernels_.end()) {
    for (const auto& def : found->second) known += Cat(Describe(*def), "\n");
  }
  return NotFound("No OpKernel was registered to support Op '", op, "' used by the node with these attrs: [",
                  Describe(attrs), "]\nRegistered devices: [", device_type, "]\nRegistered kernels:\n",
                  known.empty() ? std::string("  <no registered kernels>\n") : known);
}

std::vector<const KernelEntry*> KernelRegistry::All(std::string_view op) const {
  absl::ReaderMutexLock lock(&mu_);
  std::vector<const KernelEntry*> out;
  auto found = kernels_.find(op);
  if (found != kernels_.end()) {
    for (const auto& def : found->second) out.push_back(def.get());
  }
  return out;
}

std::vector<std::string> KernelRegistry::DeviceTypes(std::string_view op, const AttrMap& attrs) const {
  std::string label = KernelLabel(attrs);
  std::vector<std::string> out;
  for (const KernelEntry* def : All(op)) {
    if (Fits(*def, attrs, label) && std::find(out.begin(), out.end(), def->device_type) == out.end()) {
      out.push_back(def->device_type);
    }
  }
  return out;
}

}  // namespace weir
