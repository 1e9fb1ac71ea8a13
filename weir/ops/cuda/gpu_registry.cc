#include "weir/ops/cuda/gpu_registry.h"

#include <algorithm>

#include "weir/device/cuda/cuda_device.h"
#include "weir/ops/cuda/gpu_kernels_text.h"
#include "weir/ops/cuda/host_kernel.h"

namespace weir::cuda {
namespace {

std::vector<std::string_view> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

// Types that are in the host's memory anyway.
bool StaysOnHost(DType dtype) {
  const DType base = BaseType(dtype);
  return dtype != DType::kInvalid && base != DType::kVariant && !IsPlain(base);
}

GpuCombination ParseCombination(std::string_view text, const OpSchema* schema) {
  GpuCombination combination;
  for (std::string_view item : Split(text, " ")) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;  // any
    const std::string_view name = item.substr(0, equals);
    const std::vector<std::string_view> values = Split(item.substr(equals + 1), ",");
    if (name == "host") {
      combination.host_memory.assign(values.begin(), values.end());
      continue;
    }
    KernelEntry::Constraint constraint{std::string(name), {}};
    for (std::string_view value : values) {
      if (std::optional<DType> dtype = ParseDType(value); dtype.has_value()) constraint.types.push_back(*dtype);
    }
    // TensorFlow's registrations also name attributes that the op does not have, or that are no types.
    const bool is_known = schema == nullptr || schema->FindAttr(name) != nullptr;
    if (is_known && !constraint.types.empty()) combination.types.push_back(std::move(constraint));
  }
  if (schema == nullptr) return combination;
  auto is_on_host = [&](const ArgSchema& arg) {
    return StaysOnHost(arg.type) || std::ranges::count(combination.host_memory, arg.name) > 0;
  };
  combination.all_on_host = std::ranges::all_of(schema->inputs, is_on_host) &&
                            std::ranges::all_of(schema->outputs, is_on_host) && !combination.host_memory.empty();
  return combination;
}

}  // namespace

std::vector<DType> PlainElementTypes() {
  return []<typename... Ts>(TypeList<Ts...>) { return std::vector<DType>{kDTypeOf<Ts>...}; }(PlainTypes{});
}

GpuRegistry::GpuRegistry(const OpRegistry& ops, KernelRegistry& kernels) : ops_(ops), kernels_(kernels) {
  for (std::string_view line : Split(GpuKernelsText(), "\n")) {
    const size_t colon = line.find(": ");
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    const std::string_view op = line.substr(0, colon);
    const OpSchema* schema = ops_.Find(op);
    for (std::string_view text : Split(line.substr(colon + 2), " | ")) {
      GpuCombination combination = ParseCombination(text, schema);
      // They read a generator's state, which is in the GPU's memory.
      if (op.starts_with("Rng")) combination.all_on_host = false;
      table_[std::string(op)].push_back(std::move(combination));
    }
  }
}

void GpuRegistry::Add(std::string_view op, const KernelFactory& factory) { Add(op, factory, "", {}); }

void GpuRegistry::Add(std::string_view op, const KernelFactory& factory, std::string_view attr,
                      const std::vector<DType>& only, const std::vector<std::string>& also_on_host) {
  Register(op, factory, attr, only, also_on_host, /*plain_only=*/true);
}

void GpuRegistry::Register(std::string_view op, const KernelFactory& factory, std::string_view attr,
                           const std::vector<DType>& only, const std::vector<std::string>& also_on_host,
                           bool plain_only) {
  auto found = table_.find(op);
  if (found == table_.end()) return;
  for (const GpuCombination& combination : found->second) {
    if (combination.all_on_host) continue;
    KernelEntry entry;
    entry.op = op;
    entry.device_type = kDeviceType;
    entry.constraints = combination.types;
    entry.host_memory = combination.host_memory;
    entry.host_memory.insert(entry.host_memory.end(), also_on_host.begin(), also_on_host.end());
    entry.factory = factory;
    if (!attr.empty()) {
      auto constraint = std::ranges::find(entry.constraints, attr, &KernelEntry::Constraint::attr);
      if (constraint == entry.constraints.end()) {
        entry.constraints.push_back({std::string(attr), only});
      } else {
        std::erase_if(constraint->types, [&](DType dtype) { return std::ranges::count(only, dtype) == 0; });
        if (constraint->types.empty()) continue;
      }
    }
    bool has_types = true;
    for (KernelEntry::Constraint& constraint : entry.constraints) {
      std::erase_if(constraint.types, [&](DType dtype) { return !IsBuilt(dtype) || (plain_only && !IsPlain(dtype)); });
      has_types &= !constraint.types.empty();
    }
    if (has_types) kernels_.Register(std::move(entry));
  }
}

void GpuRegistry::AddMoving(std::string_view op) {
  Register(op, HostKernelFactory(kernels_), "", {}, {}, /*plain_only=*/false);
}

void GpuRegistry::AddMoving(std::string_view op, KernelWrapper wrapper) {
  auto factory = [make = HostKernelFactory(kernels_),
                  wrapper = std::move(wrapper)](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, make(init));
    return wrapper(std::move(kernel));
  };
  Register(op, factory, "", {}, {}, /*plain_only=*/false);
}

void GpuRegistry::AddPortable(std::string_view op, const std::vector<std::string>& also_on_host) {
  Add(op, PortableFactory(), "", {}, also_on_host);
}

void GpuRegistry::AddContainer(std::string_view op) {
  Register(op, PortableFactory(), "", {}, {}, /*plain_only=*/false);
}

void GpuRegistry::AddVariants(std::string_view op) {
  Register(op, PortableFactory(), "T", {DType::kVariant}, {}, /*plain_only=*/false);
}

KernelFactory GpuRegistry::PortableFactory() const {
  return [&kernels = kernels_](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(const KernelEntry* entry, kernels.Find(init.schema().name, "CPU", init.attrs()));
    return entry->factory(init);
  };
}

void GpuRegistry::AddHostKernels() {
  for (const auto& [op, combinations] : table_) {
    if (kernels_.All(op).empty()) continue;  // the executor's own, or unknown
    for (const GpuCombination& combination : combinations) {
      if (!combination.all_on_host) continue;
      KernelEntry entry;
      entry.op = op;
      entry.device_type = kDeviceType;
      entry.constraints = combination.types;
      entry.host_memory = combination.host_memory;
      entry.factory = HostKernelFactory(kernels_);
      kernels_.Register(std::move(entry));
    }
  }
}

}  // namespace weir::cuda
